"""Detects constant arrays that are converted to tensors and copied again in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.bindings import end_position, start_position
from ....script.libraries import target_device
from ..static_rule import Occurrence, StaticRule

_CONVERTS = ("torch.from_numpy", "torch.tensor", "torch.as_tensor")


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls(*_CONVERTS):
        region = script.loops.each_step(call)
        if region is None or len(call.args) != 1 or not _is_moved(script, call):
            continue
        if _is_constant(script, call.args[0], region):
            yield Occurrence(
                call,
                f"{script.text(call.args[0], 30)} is the same in every step, but is converted and copied "
                "to the GPU each time",
                "convert it once before the loop; in a module, self.register_buffer(...)",
            )


def _is_moved(script: Script, call: ast.Call) -> bool:
    parent = script.parents.get(call)
    outer = script.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    moved = isinstance(outer, ast.Call) and target_device(script, outer) == "gpu"
    return moved or any(keyword.arg == "device" for keyword in call.keywords)


def _is_constant(script: Script, value: ast.expr, region: ast.AST) -> bool:
    """Returns whether a value is a list of numbers, or an array bound once outside the region."""
    if isinstance(value, ast.List):
        return len(value.elts) > 1 and all(
            isinstance(element, ast.Constant) for element in value.elts
        )
    bindings = script.bindings(value)
    if len(bindings) != 1 or bindings[0].how != "assign":
        return False
    place = start_position(bindings[0].statement)
    outside = not start_position(region) <= place <= end_position(region)
    return outside and script.values.infer(value).kind == "array"


RULE = StaticRule(
    id="repeated-from-numpy",
    title="the same array is converted in every step",
    level="warning",
    reason="Each conversion allocates, copies from unpinned memory, and makes the CPU wait for the copy.",
    fix="Convert it once before the loop; in a module, register it as a buffer.",
    before="images = images - torch.from_numpy(mean).to(device)",
    after="mean = torch.from_numpy(mean).to(device)  # before the loop\nimages = images - mean",
    find=find,
    silent="arrays that change from step to step",
)
