"""Detects Tensor Core layers whose sizes are not multiples of 8, if a trial with padding was faster."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, percent, slowest_names
from ...probe.layers.layer_facts import LayerFacts
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule

FASTER = 0.95


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    found: list[LayerFacts] = []
    cost = 0.0
    for layer in measured.layers:
        if layer.padded is not None and layer.padded < FASTER:
            found.append(layer)
            cost += layer.seconds * (1 - layer.padded)
    if measured.device == "cuda" and found and measured.is_significant(cost, 0.02):
        names = name_list(slowest_names(found), len(found))
        slowest = max(found, key=lambda layer: layer.seconds)
        yield LayerFinding(
            f"{names}: sizes unsuitable for Tensor Cores ({_sizes(slowest)}); padding reduces the layer to {percent(slowest.padded or 1.0)} of its time",
            "use multiples of 8 for channels, features and vocabularies (4 for TF32)",
            cost,
        )


def _sizes(layer: LayerFacts) -> str:
    if layer.conv is not None:
        return f"{layer.conv.in_channels} to {layer.conv.out_channels} channels"
    return f"{layer.shape_in[-1]} to {layer.shape_out[-1]} features"


RULE = LayerRule(
    id="tensor-core-sizes",
    title="sizes that are not multiples of 8",
    level="warning",
    reason="Tensor Cores process float16 and bfloat16 in groups of 8, and TF32 in groups of 4; other sizes use slower kernels. The slowest such "
    "layers are timed on the GPU, as they are and padded to the next multiple. Layers that gain nothing are not reported.",
    find=find,
)
