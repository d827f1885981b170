"""Pointwise convolutions whose input and output widths differ much (G1 of ShuffleNetV2)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...layers.measured_layers import Layer, Measured, slowest_names
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers

RATIO = 1.3  # of the activations' bytes to those of equal widths: beyond 4.6 to 1
NOT_OVERHEAD = 0.1  # of the roof, at least: otherwise memory is not what the layer waits for


def find(measured: Measured) -> Iterator[SlowLayers]:
    found, cost = [], 0.0
    for one in measured.layers:
        ratio = excess(one)
        by_memory = measured.memory_s(one) > measured.compute_s(one)
        if ratio >= RATIO and by_memory and measured.roof_s(one) >= NOT_OVERHEAD * one.seconds:
            found.append(one)
            cost += one.seconds * (1 - 1 / ratio)
    if found and measured.is_worth(cost):
        names = some(slowest_names(found), len(found))
        conv = max(found, key=lambda one: one.seconds).conv or {}
        widths = f"{conv['in_channels']} to {conv['out_channels']} channels"
        yield SlowLayers(
            f"{names}: 1 x 1 convolutions of unequal widths ({widths}) wait for memory",
            "a smaller expansion: with equal widths the same FLOPs move fewer bytes",
            cost,
        )


def excess(one: Layer) -> float:
    """Bytes of input and output, over those of the equal widths that give the same FLOPs; 0 for other layers."""
    conv = one.conv
    if conv is None or conv["groups"] != 1 or any(size != 1 for size in conv["kernel_size"]):
        return 0.0
    wide, narrow = conv["in_channels"], conv["out_channels"]
    return float((wide + narrow) / (2 * math.sqrt(wide * narrow)))


CHECK = LayerCheck(
    id="unequal-channels",
    title="1 x 1 convolutions with unequal widths",
    level="warning",
    why="Rule G1 of ShuffleNetV2: with the same FLOPs, a 1 x 1 convolution reads and writes least when its input and output have as many "
    "channels. Only layers that wait for memory are meant. The cost is the share of bytes above equal widths.",
    find=find,
)
