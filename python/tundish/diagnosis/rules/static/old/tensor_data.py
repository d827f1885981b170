"""Detects `.data` on tensors that have an autograd graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import is_literal
from ....script.names import written
from ....script.values import loss_names
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for node in script.nodes(ast.Attribute):
        if node.attr != "data" or not isinstance(node.ctx, ast.Load):
            continue
        owner = script.values.infer(node.value)
        parent = script.parents.get(node)
        if owner.kind != "tensor" or _is_parameter(node.value):
            continue
        name = script.text(node.value, 100)
        if _is_first(parent) and _is_scalar(script, node.value):
            yield Occurrence(
                node,
                "[0] of a zero-dimensional tensor is an error since torch 0.5",
                f"{name}.item()",
            )
        elif not _is_without_grad(script, node):
            yield Occurrence(
                node,
                ".data hides in-place changes from autograd, which results in wrong gradients",
                f"{name}.detach()",
            )


def _is_first(parent: ast.AST | None) -> bool:
    """Recognizes `x.data[0]`."""
    return isinstance(parent, ast.Subscript) and is_literal(parent.slice, 0)


def _is_scalar(script: Script, owner: ast.expr) -> bool:
    """Returns whether a tensor is a loss: returned by a criterion, or used for backward()."""
    if (script.function(owner), written(owner)) in loss_names(script):
        return True
    if any(is_literal(keyword.value, "none") for keyword in script.nodes(ast.keyword)):
        return False  # reduction="none": one loss per sample
    made = owner
    bindings = script.bindings(owner)
    if len(bindings) == 1 and bindings[0].how == "assign" and bindings[0].value is not None:
        made = bindings[0].value
    return isinstance(made, ast.Call) and script.values.infer(made.func).kind == "criterion"


def _is_without_grad(script: Script, node: ast.AST) -> bool:
    """Returns whether no graph is recorded here, so that `.data` is harmless."""
    loops = script.loops
    return loops.without_grad(node) or loops.called_without_grad(script.function(node))


def _is_parameter(owner: ast.expr) -> bool:
    """Recognizes parameters. Their in-place initialization and averaging is not reported."""
    return isinstance(owner, ast.Attribute) and owner.attr in ("weight", "bias", "grad")


RULE = StaticRule(
    id="tensor-data",
    title=".data instead of .detach()",
    level="warning",
    reason=".data is a relic of torch 0.3. Unlike .detach(), it does not inform autograd about in-place changes.",
    fix="Use .detach(), or with torch.no_grad():",
    before="prediction = output.data.max(1)[1]",
    after="prediction = output.detach().argmax(1)",
    find=find,
    silent="parameters (weight.data, p.data), attributes of other objects, code under "
    "torch.no_grad() or torch.inference_mode()",
)
