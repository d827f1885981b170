"""Detects eval() in the epoch loop without any train()."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.names import written
from ..static_rule import Check, Found


def find(script: Script) -> Iterator[Found]:
    for call in script.methods("eval"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or script.values.infer(owner).kind != "model" or not written(owner):
            continue
        epochs = script.loops_around(call)
        if not epochs or not _trains(script, epochs[-1], written(owner)):
            continue
        if not script.methods("train"):
            yield Found(
                call,
                f"after this line, {written(owner)} stays in eval mode: nothing calls {written(owner)}.train() again",
                f"call {written(owner)}.train() at the beginning of each epoch",
            )


def _trains(script: Script, epochs: ast.AST, model: str) -> bool:
    """Returns whether the same loop also trains the model directly."""
    backward = any(script.is_inside(call, epochs) for call in script.loops.backward_calls)
    called = [
        call
        for call in script.inside(epochs, ast.Call)
        if written(call.func) == model and not script.loops.without_grad(call)
    ]
    return backward and bool(called)


CHECK = Check(
    id="train-mode-not-restored",
    title="training continues in eval mode",
    level="error",
    why="From the second epoch on, dropout is disabled and batch norm no longer updates its statistics, without any warning.",
    remedy="Call model.train() at the beginning of each epoch.",
    before="for epoch in range(90):\n    for x, y in loader:\n        ...  # trains\n    model.eval()\n    ...",
    after="for epoch in range(90):\n    model.train()\n    for x, y in loader:\n        ...\n    model.eval()\n    ...",
    find=find,
    silent="scripts that call train() anywhere",
)
