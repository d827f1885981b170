"""Evaluation with dropout and batch norm as in training."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ...script.arguments import is_literal
from ...script.names import written
from ..check import Check, Found

_WORDS = ("val", "test", "eval")


def find(script: Script) -> Iterator[Found]:
    if not script.loops.backward_calls or _sets_mode(script):
        return
    for loop in script.nodes(ast.For):
        loader = script.loops.iterated(loop.iter)
        name = written(loader).lower() if loader is not None else ""
        if not any(word in name for word in _WORDS) or loop in script.loops.training:
            continue
        for call in script.inside(loop, ast.Call):
            if not script.loops.without_grad(call) or script.values.of(call.func).kind != "model":
                continue
            if not isinstance(call.func, ast.Name | ast.Attribute):
                continue
            model = written(call.func)
            yield Found(
                call,
                f"{model} is evaluated in training mode: nothing in this script calls eval()",
                f"{model}.eval() before the loop and {model}.train() after it",
            )
            break


def _sets_mode(script: Script) -> bool:
    if script.methods("eval"):
        return True
    return any(call.args and is_literal(call.args[0], False) for call in script.methods("train"))


CHECK = Check(
    id="validation-in-train-mode",
    title="evaluation in training mode",
    level="error",
    why="In training mode dropout drops activations and batch norm uses, and learns from, the statistics of the "
    "validation batch: the accuracy is wrong and the model changes.",
    remedy="model.eval() before the evaluation, model.train() after it.",
    before="with torch.no_grad():\n    for x, y in val_loader:\n        correct += (model(x).argmax(1) == y).sum()",
    after="model.eval()\nwith torch.no_grad():\n    for x, y in val_loader:\n"
    "        correct += (model(x).argmax(1) == y).sum()\nmodel.train()",
    find=find,
    silent="scripts that do not train, scripts that call eval() anywhere",
)
