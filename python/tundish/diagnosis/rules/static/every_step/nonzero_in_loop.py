"""Detects functions whose output size depends on the data: nonzero, unique, masked_select."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.timing import remaining_waits_note
from ..static_rule import Occurrence, StaticRule

_METHODS = ("nonzero", "masked_select", "unique")


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.nodes(ast.Call):
        name = _function(script, call)
        if name and script.loops.each_step(call):
            yield Occurrence(
                call,
                f"{name} has a result of unknown size: the CPU waits for the GPU in every step",
                _remedy(name) + remaining_waits_note(script, _other_calls(script, call)),
            )


def _other_calls(script: Script, call: ast.Call) -> list[ast.Call]:
    """Returns other calls of the same method on possible GPU tensors in the same step."""
    if not isinstance(call.func, ast.Attribute) or script.name(call.func):
        return []
    region = script.loops.step_region(call)
    return [
        other
        for other in script.methods(call.func.attr)
        if isinstance(other.func, ast.Attribute)
        and not script.values.infer(other.func.value).kind
        and script.loops.each_step(other) is region
    ]


def _remedy(name: str) -> str:
    if "unique" in name:
        return "count once per epoch or in the dataset; torch.bincount(x, minlength=n) has a known size"
    if "masked_select" in name:
        return (
            'keep the size: reduction="none", multiply by the mask, sum, and divide by mask.sum()'
        )
    return "torch.where(mask, a, b), or multiply by the mask and divide by mask.sum(): the size stays the same"


def _function(script: Script, call: ast.Call) -> str:
    name = script.name(call.func)
    short = name.removeprefix("torch.")
    if name.startswith("torch.") and short in _METHODS and call.args:
        return name if script.values.is_gpu_tensor(call.args[0]) else ""
    if name == "torch.where" and len(call.args) == 1 and not call.keywords:
        return "torch.where(mask)" if script.values.is_gpu_tensor(call.args[0]) else ""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        return f".{call.func.attr}()" if script.values.is_gpu_tensor(call.func.value) else ""
    return ""


RULE = StaticRule(
    id="nonzero-in-loop",
    title="an operation whose result has an unknown size",
    level="warning",
    reason="The size of the result must be known before its memory is allocated, so the CPU waits for the GPU.",
    fix="Use torch.where with three arguments, or multiply by the mask: the size stays the same. A mean over the selected "
    "elements is the masked sum divided by mask.sum(), not by the number of elements.",
    before="index = (scores > 0.5).nonzero()",
    after="kept = torch.where(scores > 0.5, scores, 0)",
    find=find,
    only_gpu=True,
    silent="behind an if, in scripts without a GPU",
)
