"""Detects an evaluation in which dropout and batch norm are still in training mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import is_literal
from ....script.modes import depends_on_mode
from ....script.names import written
from ....script.validation import validations
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    if _sets_mode(script):
        return
    for _, call in validations(script):
        if not depends_on_mode(script, call.func):
            continue
        model = written(call.func)
        yield Occurrence(
            call,
            f"{model} is evaluated in training mode: nothing in this script calls eval()",
            f"call {model}.eval() before the loop and {model}.train() after it",
        )


def _sets_mode(script: Script) -> bool:
    if script.methods("eval"):
        return True
    assigned = (node for node in script.nodes(ast.Attribute) if isinstance(node.ctx, ast.Store))
    if any(node.attr == "training" for node in assigned):
        return True
    return any(_may_be_evaluation(script, call) for call in script.methods("train"))


def _may_be_evaluation(script: Script, call: ast.Call) -> bool:
    """Recognizes `x.train(False)`, and `model.train(training)`, which may set evaluation mode."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if len(given) != 1 or is_literal(given[0], True):
        return False
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return is_literal(given[0], False) or script.values.infer(owner).kind == "model"


RULE = StaticRule(
    id="validation-in-train-mode",
    title="evaluation in training mode",
    level="error",
    reason="In training mode, dropout drops activations. Batch norm normalizes with the statistics of the validation "
    "batch, and updates its running statistics with them. So the accuracy is wrong and the model changes.",
    fix="Call model.eval() before the evaluation and model.train() after it.",
    before="with torch.no_grad():\n    for x, y in val_loader:\n        correct += (model(x).argmax(1) == y).sum()",
    after="model.eval()\nwith torch.no_grad():\n    for x, y in val_loader:\n"
    "        correct += (model(x).argmax(1) == y).sum()\nmodel.train()",
    find=find,
    silent="scripts that do not train, call eval() or train(mode) anywhere or assign module.training; loops over a loader that is also used for training; models that the script does "
    "not define: without dropout and batch norm, both modes are the same",
)
