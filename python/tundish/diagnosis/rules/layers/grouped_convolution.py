"""Detects grouped convolutions that take more time per FLOP than dense ones (rule G2 of ShuffleNetV2)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, percent, slowest_names, total
from ...probe.layers.layer_facts import LayerFacts
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule

SLOWER = 3.0  # least ratio of FLOPs per second in dense layers to FLOPs per second in grouped ones


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    grouped = [
        layer for layer in measured.layers if layer.conv and layer.conv.groups > 1 and layer.flops
    ]
    others = [layer for layer in measured.layers if layer.flops and layer not in grouped]
    if not grouped:
        return
    took, flops = total(grouped), sum(layer.flops for layer in grouped)
    rate = _dense_rate(measured, others, grouped[0].precision)
    if not rate or not took or flops / took * SLOWER > rate:
        return
    cost = took - flops / rate
    if measured.is_significant(cost):
        names = name_list(slowest_names(grouped), len(grouped))
        part = flops / max(1, sum(layer.flops for layer in measured.layers))
        yield LayerFinding(
            f"{names}: grouped convolutions take {measured.share(took)} of the model's time for {percent(part)} of its FLOPs",
            "use fewer groups with fewer channels, or a dense convolution; larger kernels cost little in a depthwise layer",
            cost,
        )


def _dense_rate(measured: MeasuredLayers, others: list[LayerFacts], precision: str) -> float:
    """Returns the FLOPs per second of the model's other layers, or the machine's limit without others."""
    took = total(others)
    if took:
        return float(sum(layer.flops for layer in others) / took)
    return measured.roof.flops_per_s.get(precision, 0.0)


RULE = LayerRule(
    id="grouped-convolution",
    title="grouped convolutions that are slow for their FLOPs",
    level="warning",
    reason="Rule G2 of ShuffleNetV2: at equal FLOPs, more groups mean more channels, more bytes and less work per byte. Depthwise "
    "convolutions are the extreme case. The cost is their time beyond the time of the same FLOPs in the model's other layers.",
    find=find,
)
