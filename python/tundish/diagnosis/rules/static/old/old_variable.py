"""torch.autograd.Variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.call_arguments import argument, is_literal
from ....lint.script.libraries import FACTORIES
from ..static_rule import Check, Found


def find(script: Script) -> Iterator[Found]:
    for call in script.calls("torch.autograd.Variable"):
        yield Found(call, "Variable() only detaches since torch 0.4", _remedy(script, call))


def _remedy(script: Script, call: ast.Call) -> str:
    """The tensor itself where nothing computed it; else detached, as Variable() does. requires_grad= stays."""
    given = argument(call, "data", 0)
    if given is None:
        return "use the tensor itself"
    inner = script.text(given, 30)
    grad = argument(call, "requires_grad", 1)
    if grad is not None and not is_literal(grad, False):
        wanted = "" if is_literal(grad, True) else script.text(grad)
        return f"{inner}.detach().requires_grad_({wanted})"
    if script.values.of(given).kind in ("batch", "array") or _is_made_here(script, given):
        return f"use {inner} itself"
    return f"use {inner} itself, or {inner}.detach() if a gradient must not flow through it"


def _is_made_here(script: Script, given: ast.expr) -> bool:
    return isinstance(given, ast.Call) and script.name(given.func) in FACTORIES


CHECK = Check(
    id="old-variable",
    title="Variable(), which only detaches",
    level="warning",
    why="Since torch 0.4 every tensor is a variable. What is left of the call is a detach(): no gradient flows through it, and "
    "nothing says so.",
    remedy="Remove the call; write .detach() where that was meant, and .detach().requires_grad_() for requires_grad=True.",
    before="x = Variable(x.cuda())",
    after="x = x.cuda()",
    find=find,
)
