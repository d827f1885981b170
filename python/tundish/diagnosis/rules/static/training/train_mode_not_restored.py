"""Detects eval() in the epoch loop if no train() restores the training mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.names import written
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.methods("eval"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or script.values.infer(owner).kind != "model" or not written(owner):
            continue
        epochs = _loop_with_one_model(script, call, owner)
        if epochs is None or not _trains(script, epochs, written(owner)):
            continue
        if not script.methods("train") and not _is_last(script, call, epochs):
            yield Occurrence(
                call,
                f"after this line, {written(owner)} stays in eval mode: nothing calls {written(owner)}.train() again",
                f"call {written(owner)}.train() at the beginning of each epoch",
            )


def _loop_with_one_model(script: Script, call: ast.Call, model: ast.expr) -> ast.AST | None:
    """Returns the outermost loop around `call` that does not create the model.

    A loop over folds creates a new model for each fold, which starts in training mode.
    """
    loops = script.loops_around(call)
    bindings = script.bindings(model)
    kept = [
        loop
        for loop in loops
        if not any(script.is_inside(binding.statement, loop) for binding in bindings)
    ]
    return kept[-1] if kept else None


def _is_last(script: Script, call: ast.Call, epochs: ast.AST) -> bool:
    """Returns whether the loop ends after `call`, by break or return, or because it is the last pass."""
    below: ast.AST = call
    leaves: tuple[type[ast.stmt], ...] = (ast.Return, ast.Raise, ast.Break)
    for ancestor in script.ancestors(call):
        if isinstance(ancestor, ast.For | ast.AsyncFor | ast.While) and ancestor is not epochs:
            leaves = (ast.Return, ast.Raise)  # a break leaves only this inner loop
        for name in ("body", "orelse", "finalbody"):
            block = getattr(ancestor, name, None)
            if not isinstance(block, list) or below not in block:
                continue
            if isinstance(block[-1], leaves):
                return True
            if isinstance(ancestor, ast.If) and name == "body" and _is_one_pass(ancestor, epochs):
                return True
        if ancestor is epochs:
            break
        below = ancestor
    return False


def _is_one_pass(test: ast.If, epochs: ast.AST) -> bool:
    """Recognizes `if epoch == EPOCHS - 1:` in `for epoch in ...`."""
    compared = test.test
    if not isinstance(compared, ast.Compare) or not isinstance(compared.ops[0], ast.Eq):
        return False
    counters = {
        node.id for node in ast.walk(getattr(epochs, "target", test)) if isinstance(node, ast.Name)
    }
    sides = [compared.left, *compared.comparators]
    return any(isinstance(side, ast.Name) and side.id in counters for side in sides)


def _trains(script: Script, epochs: ast.AST, model: str) -> bool:
    """Returns whether the same loop also trains the model directly."""
    backward = any(script.is_inside(call, epochs) for call in script.loops.backward_calls)
    called = [
        call
        for call in script.inside(epochs, ast.Call)
        if written(call.func) == model and not script.loops.without_grad(call)
    ]
    return backward and bool(called)


RULE = StaticRule(
    id="train-mode-not-restored",
    title="training continues in eval mode",
    level="error",
    reason="From the second epoch on, dropout is disabled and batch norm no longer updates its statistics, without any warning.",
    fix="Call model.train() at the beginning of each epoch.",
    before="for epoch in range(90):\n    for x, y in loader:\n        ...  # trains\n    model.eval()\n    ...",
    after="for epoch in range(90):\n    model.train()\n    for x, y in loader:\n        ...\n    model.eval()\n    ...",
    find=find,
    silent="scripts that call train() anywhere; loops that end after eval(), or that create the model before eval()",
)
