"""Finds loops that evaluate the model that the script trains."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .call_arguments import argument
from .loaders import origins
from .names import written

if TYPE_CHECKING:
    from .script import Script

_EVALUATION_NAMES = ("val", "test", "eval")  # prefixes of names or of parts of names
_OTHER_NAMES = ("value", "valued", "values")
_SCORES = ("argmax", "eq", "topk")  # operations on the model's output in loops without a loss
_TRAINS = ("backward", "manual_backward", "step", "grad", "requires_grad_", "zero_grad")


def validations(script: Script) -> Iterator[tuple[ast.For, ast.Call]]:
    """Yields (loop, its first call of the model) for each validation loop.

    A validation loop reads a loader that no training loop reads. It calls a model, but has no backward
    pass and no optimizer step. In addition, its loader, dataset or function must have a name such as
    `val_loader`, or the loop must compare the model's output.
    """
    if not script.loops.backward_calls:
        return
    trained = {_identity(script, loader) for loader in _training_loaders(script)}
    for loop in script.nodes(ast.For):
        loader = script.loops.loader_in(loop.iter)
        if loader is None or loop in script.loops.training or _trains(script, loop):
            continue
        if _identity(script, loader) in trained:
            continue
        model = _first_model(script, loop)
        if model is not None and (_is_named(script, loop, loader) or _scores(script, loop)):
            yield loop, model


def _training_loaders(script: Script) -> Iterator[ast.expr]:
    for loop in script.loops.training:
        if isinstance(loop, ast.For):
            loader = script.loops.loader_in(loop.iter)
            if loader is not None:
                yield loader


def _identity(script: Script, loader: ast.expr) -> object:
    """Returns a key for a loader: the call that created it, or its name if the call is unknown.

    The key of a parameter is its function and its name.
    """
    made = origins(script, loader)
    if len(made) == 1:
        return id(made[0])
    bindings = script.bindings(loader)
    parameter = any(binding.how == "parameter" for binding in bindings)
    return (id(script.function(loader)) if parameter else 0, written(loader))


def _trains(script: Script, loop: ast.For) -> bool:
    return any(
        written(call.func).rpartition(".")[2] in _TRAINS
        or (isinstance(call.func, ast.Attribute) and call.func.attr in _TRAINS)
        for call in script.inside(loop, ast.Call)
    )


def _first_model(script: Script, loop: ast.For) -> ast.Call | None:
    for call in script.inside(loop, ast.Call):
        plain = isinstance(call.func, ast.Name | ast.Attribute) and not script.name(call.func)
        if plain and written(call.func) and script.values.infer(call.func).kind == "model":
            return call
    return None


def _is_named(script: Script, loop: ast.For, loader: ast.expr) -> bool:
    names = [written(loader), getattr(script.function(loop), "name", "")]
    for made in [loader, *origins(script, loader)]:
        if isinstance(made, ast.Call):
            names.append(written(argument(made, "dataset", 0) or made))
    parts = [part for name in names for part in re.split(r"[._\d]+", name.lower())]
    if any(part.startswith("train") for part in parts):
        return False
    return any(part.startswith(_EVALUATION_NAMES) and part not in _OTHER_NAMES for part in parts)


def _scores(script: Script, loop: ast.For) -> bool:
    """Returns whether the loop evaluates the output: `(model(x).argmax(1) == y).sum()`."""
    if not any(
        isinstance(call.func, ast.Attribute) and call.func.attr in _SCORES
        for call in script.inside(loop, ast.Call)
    ):
        return False
    return any(
        isinstance(comparison.ops[0], ast.Eq)
        and script.values.infer(comparison.left).kind == "tensor"
        for comparison in script.inside(loop, ast.Compare)
    )
