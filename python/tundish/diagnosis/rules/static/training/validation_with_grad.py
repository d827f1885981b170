"""Detects an evaluation that records an autograd graph but runs no backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.bindings import start_position
from ....script.names import written
from ....script.validation import validations
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    if any(call.args for call in script.calls("torch.set_grad_enabled")):
        return
    for loop in script.nodes(ast.For):
        model = _evaluated(script, loop)
        if model is not None and not _needs_grad(script, loop):
            yield Occurrence(
                model,
                f"{script.text(model.func)} is in eval mode here, but every batch records a graph",
                "put `with torch.no_grad():` around the loop; eval() does not disable gradients",
            )
    for loop, model in validations(script):
        if not script.loops.without_grad(model) and not _needs_grad(script, loop):
            yield Occurrence(
                model,
                f"this loop only evaluates {script.text(model.func)}, but every batch records a graph",
                "put `with torch.no_grad():` around the loop",
            )


def _evaluated(script: Script, loop: ast.For) -> ast.Call | None:
    """Returns the first call of a model in eval mode, in a loop over a loader."""
    if not script.loops.over_loader(loop):
        return None
    evals = {
        written(call.func.value): start_position(call)
        for call in script.methods("eval")
        if isinstance(call.func, ast.Attribute) and script.function(call) is script.function(loop)
    }
    for call in script.inside(loop, ast.Call):
        name = written(call.func)
        if (
            name not in evals
            or evals[name] > start_position(call)
            or script.loops.without_grad(call)
        ):
            continue
        if script.values.infer(call.func).kind == "model" and not _trained_again(
            script, name, loop, evals[name]
        ):
            return call
    return None


def _trained_again(script: Script, name: str, loop: ast.AST, since: tuple[int, int]) -> bool:
    return any(
        isinstance(call.func, ast.Attribute)
        and written(call.func.value) == name
        and since < start_position(call) < start_position(loop)
        for call in script.methods("train")
    )


def _needs_grad(script: Script, loop: ast.AST) -> bool:
    """Returns whether the loop needs gradients, or runs only where gradients are disabled.

    Saliency maps, adversarial attacks and training in eval mode need gradients.
    """
    function = script.function(loop)
    for call in script.inside(loop, ast.Call):
        last = written(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")
        if last in ("backward", "grad", "requires_grad_", "manual_backward", "step"):
            return True
        if "no_grad" in last or "inference" in last:
            return True
    if any(keyword.arg == "requires_grad" for keyword in script.inside(function, ast.keyword)):
        return True
    if script.loops.called_without_grad(function):
        return True
    return any(node.attr == "requires_grad" for node in script.inside(function, ast.Attribute))


RULE = StaticRule(
    id="validation-with-grad",
    title="evaluation without torch.no_grad()",
    level="warning",
    reason="eval() only affects dropout and batch norm. Without no_grad(), every activation is kept for a backward pass "
    "that never happens, which costs memory and time.",
    fix="Use with torch.no_grad(): around the evaluation, @torch.no_grad() on its function, or inference_mode().",
    before="model.eval()\nfor x, y in val_loader:\n    correct += (model(x).argmax(1) == y).sum()",
    after="model.eval()\nwith torch.no_grad():\n    for x, y in val_loader:\n"
    "        correct += (model(x).argmax(1) == y).sum()",
    find=find,
    silent="if gradients of inputs are used; if all callers disable gradients; loops without eval() over a loader that is also used for training",
)
