"""Layers on Tensor Cores whose sizes are no multiples of 8, where padding was measured to be faster."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import Layer, Measured, percent, slowest_names
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers

FASTER = 0.95


def find(measured: Measured) -> Iterator[SlowLayers]:
    found: list[Layer] = []
    cost = 0.0
    for one in measured.layers:
        if one.padded is not None and one.padded < FASTER:
            found.append(one)
            cost += one.seconds * (1 - one.padded)
    if measured.device == "cuda" and found and measured.is_worth(cost, 0.02):
        names = some(slowest_names(found), len(found))
        slowest = max(found, key=lambda one: one.seconds)
        yield SlowLayers(
            f"{names}: sizes that Tensor Cores do not like ({_sizes(slowest)}); padded, the layer takes {percent(slowest.padded or 1.0)} of its time",
            "channels, features and vocabularies in multiples of 8 (of 4 for TF32)",
            cost,
        )


def _sizes(one: Layer) -> str:
    if one.conv is not None:
        return f"{one.conv['in_channels']} to {one.conv['out_channels']} channels"
    return f"{one.shape_in[-1]} to {one.shape_out[-1]} features"


CHECK = LayerCheck(
    id="tensor-core-sizes",
    title="sizes that are no multiples of 8",
    level="warning",
    why="Tensor Cores take float16 and bfloat16 in groups of 8, TF32 in groups of 4; other sizes use slower kernels. The slowest such "
    "layers are timed on the GPU as they are and padded to the next multiple; those that gain nothing are not named.",
    find=find,
)
