"""Layers of a channels_last model that get or give NCHW: every such place is a copy."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import Layer, Measured
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers

SHARE = 0.01
_PASSES = 4  # the input is read and written in forward, its gradient in backward
_SIZES = {"bf16": 2, "fp16": 2, "float64": 8}


def find(measured: Measured) -> Iterator[SlowLayers]:
    convs = [one for one in measured.layers if one.conv and one.conv["weight_layout"] == "NHWC"]
    if not convs or not measured.bytes_per_s:
        return
    lost = {one.shown: one.layout_bytes for one in measured.layers if one.layout_bytes}
    for one in convs:
        if one.layout_in == "NCHW":
            lost[one.shown] = lost.get(one.shown, 0) + _input_bytes(one) * _PASSES
    cost = sum(lost.values()) / measured.bytes_per_s
    if lost and cost >= SHARE * measured.total_s:
        names = some(sorted(lost, key=lambda name: -lost[name]), len(lost))
        yield SlowLayers(
            f"{names}: the model is channels_last, and activations change between NHWC and NCHW here",
            "x.to(memory_format=torch.channels_last) for the input; no view(), contiguous() or permute() that gives NCHW between convolutions",
            cost,
        )


def _input_bytes(one: Layer) -> int:
    count = _SIZES.get(one.precision, 4) * one.calls
    for size in one.shape_in:
        count *= size
    return count


CHECK = LayerCheck(
    id="channels-last-lost",
    title="layers that fall back from channels_last",
    level="warning",
    why="Convolutions of a channels_last model compute in NHWC. An input, or a layer between, that is NCHW is copied into the other layout and "
    "its gradient back. The cost is the bytes of these copies at the measured rate of copies.",
    find=find,
)
