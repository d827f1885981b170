"""Detects torch.autograd.Variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, is_literal
from ....script.libraries import FACTORIES
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls("torch.autograd.Variable"):
        yield Occurrence(call, "since torch 0.4, Variable() only detaches", _remedy(script, call))


def _remedy(script: Script, call: ast.Call) -> str:
    """Suggests the tensor itself if it has no graph, otherwise detach(), which Variable() also does.

    Keeps the argument requires_grad.
    """
    given = argument(call, "data", 0)
    if given is None:
        return "use the tensor itself"
    inner = script.text(given, 30)
    grad = argument(call, "requires_grad", 1)
    if grad is not None and not is_literal(grad, False):
        wanted = "" if is_literal(grad, True) else script.text(grad)
        return f"{inner}.detach().requires_grad_({wanted})"
    if script.values.infer(given).kind in ("batch", "array") or _is_created_here(script, given):
        return f"use {inner} itself"
    return f"use {inner} itself, or {inner}.detach() if a gradient must not flow through it"


def _is_created_here(script: Script, given: ast.expr) -> bool:
    return isinstance(given, ast.Call) and script.name(given.func) in FACTORIES


RULE = StaticRule(
    id="old-variable",
    title="Variable(), which only detaches",
    level="warning",
    reason="Since torch 0.4, every tensor is a variable. Only the detach() of the call remains: no gradient flows through it, without "
    "any warning.",
    fix="Remove the call. Write .detach() if this was intended, and .detach().requires_grad_() for requires_grad=True.",
    before="x = Variable(x.cuda())",
    after="x = x.cuda()",
    find=find,
)
