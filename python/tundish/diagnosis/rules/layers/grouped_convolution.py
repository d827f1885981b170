"""Grouped and depthwise convolutions that compute much slower than the dense ones (G2 of ShuffleNetV2)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import Layer, Measured, percent, slowest_names, total
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers

SLOWER = 3.0  # FLOPs per second of dense layers, over those of grouped ones


def find(measured: Measured) -> Iterator[SlowLayers]:
    grouped = [one for one in measured.layers if one.conv and one.conv["groups"] > 1 and one.flops]
    others = [one for one in measured.layers if one.flops and one not in grouped]
    if not grouped:
        return
    took, flops = total(grouped), sum(one.flops for one in grouped)
    rate = _dense_rate(measured, others, grouped[0].precision)
    if not rate or not took or flops / took * SLOWER > rate:
        return
    cost = took - flops / rate
    if measured.is_worth(cost):
        names = some(slowest_names(grouped), len(grouped))
        part = flops / max(1, sum(one.flops for one in measured.layers))
        yield SlowLayers(
            f"{names}: convolutions in groups take {measured.share(took)} of the model's time for {percent(part)} of its FLOPs",
            "fewer groups with fewer channels, or a dense convolution; larger kernels cost a depthwise layer little",
            cost,
        )


def _dense_rate(measured: Measured, others: list[Layer], precision: str) -> float:
    """FLOPs per second of the model's other products; without any, of the roof."""
    took = total(others)
    if took:
        return float(sum(one.flops for one in others) / took)
    return measured.flops_per_s.get(precision, 0.0)


CHECK = LayerCheck(
    id="grouped-convolution",
    title="convolutions in groups cost more time than their FLOPs say",
    level="warning",
    why="Rule G2 of ShuffleNetV2: with the same FLOPs, more groups mean more channels, more bytes and less work per byte. Depthwise "
    "convolutions are the extreme. The cost is their time beyond that of the same FLOPs in the model's other layers.",
    find=find,
)
