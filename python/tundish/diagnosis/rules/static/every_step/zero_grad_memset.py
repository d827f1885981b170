"""Gradients that are filled with zeros instead of being dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.call_arguments import argument, is_literal
from ....lint.script.libraries import uses_rpc
from ..static_rule import Check, Found

# Gradients that must stay where they are: views of one buffer, or the memory of a captured graph.
_STAY = (
    "tundish.optim.flatten",
    "torch.cuda.graph",
    "torch.cuda.CUDAGraph",
    "torch.cuda.make_graphed_callables",
)


def find(script: Script) -> Iterator[Found]:
    found = list(_memsets(script))
    if found and not _needs_gradients(script):
        yield from found


def _memsets(script: Script) -> Iterator[Found]:
    for call in script.methods("zero_grad"):
        if is_literal(argument(call, "set_to_none", 0), False):
            yield Found(
                call,
                "every gradient is written with zeros, then read and added to",
                f"{script.text(call.func)}() drops them: set_to_none=True is the default",
            )
    for call in script.methods("zero_"):
        if _zeroed(call) is not None and _per_parameter(script, call):
            yield Found(
                call,
                "every gradient is written with zeros, one kernel for each parameter",
                "optimizer.zero_grad(), or param.grad = None",
            )


def _needs_gradients(script: Script) -> bool:
    """Whether None in place of a zero gradient would break the script: it reads `.grad`, or keeps gradients in place."""
    if uses_rpc(script) or any(True for _ in script.calls(*_STAY)):
        return True
    zeroed = {_zeroed(call) for call in script.methods("zero_")}
    return any(
        node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and node not in zeroed
        and not _is_compared_with_none(script, node)
        and not script.name(node)  # torch.autograd.grad
        for node in script.nodes(ast.Attribute)
    )


def _zeroed(call: ast.Call) -> ast.Attribute | None:
    """x.grad of `x.grad.zero_()` and `x.grad.data.zero_()`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Attribute) and owner.attr == "data":
        owner = owner.value
    return owner if isinstance(owner, ast.Attribute) and owner.attr == "grad" else None


def _is_compared_with_none(script: Script, node: ast.AST) -> bool:
    """`p.grad is not None`."""
    parent = script.parents.get(node)
    return isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.Is | ast.IsNot)


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
    remedy="optimizer.zero_grad(): set_to_none=True is the default since torch 2.0. The optimizer then skips a parameter "
    "that got no gradient, where a zero gradient still lets momentum and weight decay move it.",
    before="optimizer.zero_grad(set_to_none=False)",
    after="optimizer.zero_grad()",
    find=find,
    silent="scripts that read .grad, which would be None; with tundish.optim.flatten, CUDA graphs or "
    "torch.distributed.rpc, where gradients must stay in place",
)
