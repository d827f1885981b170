"""Detects layers in a channels_last model that have NCHW inputs or outputs. Each one costs a copy."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers
from ...probe.layers.layer_facts import LayerFacts
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule

SHARE = 0.01
_PASSES = 4  # the input is read and written in forward, and its gradient in backward
_SIZES = {"bf16": 2, "fp16": 2, "float64": 8}


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    convs = [
        layer for layer in measured.layers if layer.conv and layer.conv.weight_layout == "NHWC"
    ]
    if not convs or not measured.roof.bytes_per_s:
        return
    lost = {
        layer.display_name: layer.layout_bytes for layer in measured.layers if layer.layout_bytes
    }
    for layer in convs:
        if layer.layout_in == "NCHW":
            lost[layer.display_name] = (
                lost.get(layer.display_name, 0) + _input_bytes(layer) * _PASSES
            )
    cost = sum(lost.values()) / measured.roof.bytes_per_s
    if lost and cost >= SHARE * measured.total_s:
        names = name_list(sorted(lost, key=lambda name: -lost[name]), len(lost))
        yield LayerFinding(
            f"{names}: the model is channels_last, but activations change between NHWC and NCHW here",
            "use x.to(memory_format=torch.channels_last) for the input, and no view(), contiguous() or permute() that returns NCHW between convolutions",
            cost,
        )


def _input_bytes(layer: LayerFacts) -> int:
    count = _SIZES.get(layer.precision, 4) * layer.calls
    for size in layer.shape_in:
        count *= size
    return count


RULE = LayerRule(
    id="channels-last-lost",
    title="layers that leave channels_last",
    level="warning",
    reason="Convolutions of a channels_last model compute in NHWC. An NCHW input or an NCHW layer in between costs a copy into the other layout, and "
    "another copy of its gradient. The cost is the size of these copies at the measured copy rate.",
    find=find,
)
