"""Detects gradients of parameters that are in no optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.names import written
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    if _freezes_parameters(script):
        return
    optimizers = [
        call
        for call in script.calls("torch.optim.")
        if script.values.infer(call).kind == "optimizer"
    ]
    if len(optimizers) != 1 or not optimizers[0].args or not script.loops.backward_calls:
        return
    optimizer = optimizers[0]
    owner = _parameter_owner(optimizer.args[0])
    if not isinstance(owner, ast.Attribute) or owner.attr == "module":
        return
    whole = written(owner.value)
    if whole in ("", "self") or script.values.infer(owner.value).kind != "model":
        return
    if _is_called(script, whole):
        yield Occurrence(
            optimizer,
            f"only {written(owner)} is trained, but backward computes gradients for all of {whole}",
            f"{whole}.requires_grad_(False); {written(owner)}.requires_grad_(True)",
        )


def _freezes_parameters(script: Script) -> bool:
    attributes = {node.attr for node in script.nodes(ast.Attribute)}
    names = attributes | set(script.imports)
    return bool(names & {"requires_grad", "requires_grad_", "detach", "add_param_group", "no_grad"})


def _parameter_owner(given: ast.expr) -> ast.expr | None:
    """Returns `x` for `x.parameters()`."""
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        return given.func.value if given.func.attr == "parameters" else None
    return None


def _is_called(script: Script, model: str) -> bool:
    return any(
        written(call.func) == model and script.loops.step_region(call) is not None
        for call in script.nodes(ast.Call)
    )


RULE = StaticRule(
    id="frozen-with-grad",
    title="gradients of frozen layers are computed",
    level="warning",
    reason="Parameters that are not passed to the optimizer never change, but the backward pass computes their "
    "gradients, keeps their activations, and accumulates the gradients from step to step.",
    fix="Call requires_grad_(False) on the frozen part before the optimizer is created.",
    before="optimizer = SGD(model.fc.parameters(), lr=0.1)",
    after="model.requires_grad_(False)\nmodel.fc.requires_grad_(True)\n"
    "optimizer = SGD(model.fc.parameters(), lr=0.1)",
    find=find,
    silent="scripts with several optimizers, or with requires_grad, detach() or no_grad() anywhere",
)
