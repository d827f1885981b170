"""Gradients that are filled with zeros instead of being dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ...script.arguments import argument, is_literal
from ..check import Check, Found


def find(script: Script) -> Iterator[Found]:
    for call in script.methods("zero_grad"):
        if is_literal(argument(call, "set_to_none", 0), False):
            yield Found(
                call,
                "every gradient is written with zeros, then read and added to",
                f"{script.text(call.func)}() drops them: set_to_none=True is the default",
            )
    for call in script.methods("zero_"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Attribute) and owner.attr == "data":
            owner = owner.value
        if (
            isinstance(owner, ast.Attribute)
            and owner.attr == "grad"
            and _per_parameter(script, call)
        ):
            yield Found(
                call,
                "every gradient is written with zeros, one kernel for each parameter",
                "optimizer.zero_grad(), or param.grad = None",
            )


def _per_parameter(script: Script, call: ast.Call) -> bool:
    """In `for p in model.parameters()`."""
    for loop in script.loops_around(call):
        called = (
            loop.iter.func
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
            else None
        )
        if isinstance(called, ast.Attribute):
            return called.attr in ("parameters", "named_parameters")
    return False


CHECK = Check(
    id="zero-grad-memset",
    title="gradients are set to zero instead of None",
    level="warning",
    why="Writing zeros is a pass over all gradients, and the backward pass then reads and adds where it could write. "
    "The memory also stays allocated through the forward pass.",
    remedy="optimizer.zero_grad(): set_to_none=True is the default since torch 2.0.",
    before="optimizer.zero_grad(set_to_none=False)",
    after="optimizer.zero_grad()",
    find=find,
)
