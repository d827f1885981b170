"""Detects code that keeps a loss and thereby its graph: `total += loss`, `losses.append(loss)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.bindings import end_position, start_position
from ....script.names import written
from ....script.values import backward_losses
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    if any(k.arg == "retain_graph" for k in script.nodes(ast.keyword)):
        return
    for loop in script.loops.training:
        losses = {
            written(loss)
            for call in script.loops.backward_calls
            if script.is_inside(call, loop)
            for loss in backward_losses(call)
        } - {""}
        yield from _sums(script, loop, losses)
        yield from _lists(script, loop, losses)


def _sums(script: Script, loop: ast.AST, losses: set[str]) -> Iterator[Occurrence]:
    for statement in script.inside(loop, ast.AugAssign):
        target = written(statement.target)
        if not target or target in losses or not isinstance(statement.op, ast.Add):
            continue
        if _is_loss(script, statement.value, losses) and _outlives(script, statement.target, loop):
            yield _found(script, statement.value, f"{target} += ... keeps the graph of every step")


def _lists(script: Script, loop: ast.AST, losses: set[str]) -> Iterator[Occurrence]:
    for call in script.inside(loop, ast.Call):
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "append":
            continue
        if len(call.args) != 1 or not _is_loss(script, call.args[0], losses):
            continue
        if _outlives(script, function.value, loop):
            yield _found(script, call.args[0], "the list keeps the graph of every step")


def _found(script: Script, loss: ast.expr, text: str) -> Occurrence:
    name = script.text(loss, 60)
    kept = f"({name})" if isinstance(loss, ast.BinOp) else name
    return Occurrence(loss, f"{text}, so memory grows", f"{kept}.detach()")


def _is_loss(script: Script, value: ast.expr, losses: set[str]) -> bool:
    """Recognizes `loss`, `loss * n` and `loss / n`."""
    parts = [value]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div):
        parts = [value.left, value.right]
    return any(written(part) in losses and not _is_detached(script, part) for part in parts)


def _is_detached(script: Script, loss: ast.expr) -> bool:
    """Recognizes `loss = loss.item()` before this line."""
    nearest = script.bindings(loss)[:1]
    value = nearest[0].value if nearest and nearest[0].how == "assign" else None
    if not isinstance(value, ast.Call):
        return False
    last = value.func.attr if isinstance(value.func, ast.Attribute) else written(value.func)
    return last in (
        "item",
        "detach",
        "float",
        "tolist",
        "cpu",
        "numpy",
        "reduce_mean",
        "reduce_tensor",
    )


def _outlives(script: Script, target: ast.expr, loop: ast.AST) -> bool:
    """Returns whether the target is created before the loop. If it is created in each step, it is freed."""
    if isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Attribute):
        bindings = script.attribute_bindings(target)
    elif isinstance(target, ast.Name):
        scope = script.lookup(target)
        bindings = scope.bindings.get(target.id, []) if scope is not None else []
    else:
        return False
    made = [binding for binding in bindings if binding.how == "assign"]
    inside = [
        binding
        for binding in made
        if start_position(loop) <= start_position(binding.statement) <= end_position(loop)
    ]
    return bool(made) and not inside


RULE = StaticRule(
    id="loss-kept",
    title="losses are kept with their graph",
    level="warning",
    reason="A loss holds the graph that computed it, so memory grows with every step. backward() frees the saved activations, "
    "but not the nodes of the graph and the tensors that they reference.",
    fix="Keep loss.detach(). Unlike .item(), it does not wait for the GPU.",
    before="total += loss",
    after="total += loss.detach()",
    find=find,
    silent="sums that start from zero in each step and are used for backward, scripts with retain_graph",
)
