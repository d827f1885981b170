"""Detects many small parallel layers that one wider layer could replace (rule G3 of ShuffleNetV2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...layers.measured_layers import MeasuredLayers, percent, total
from ...probe.layers.layer_facts import LayerFacts
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule

BRANCHES = 3
FAR_BELOW = 0.25  # below this fraction of the machine's limit, layers are too small for the machine


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    found: dict[str, list[LayerFacts]] = {}
    for block in measured.layers:
        branches = [
            inside for name in block.branches if _has_products(inside := measured.under(name))
        ]
        layers = list({id(layer): layer for inside in branches for layer in inside}.values())
        if len(branches) < BRANCHES or _is_inside(block.name, found):
            continue
        if sum(measured.roof_s(layer) for layer in layers) < FAR_BELOW * total(layers):
            found[block.name] = layers
    layers = list({id(layer): layer for inside in found.values() for layer in inside}.values())
    cost = total(layers) - sum(measured.roof_s(layer) for layer in layers)
    if layers and measured.is_significant(cost):
        names = name_list([name or "the model" for name in found], len(found))
        reached = sum(measured.roof_s(layer) for layer in layers) / total(layers)
        yield LayerFinding(
            f"{names}: branches with the same input run one after another, each too small for the machine ({percent(reached)} of its roof)",
            "use one layer with the channels of all branches, or fewer branches; for example one Linear for query, key and value",
            cost,
        )


def _is_inside(name: str, blocks: Iterable[str]) -> bool:
    return any(name.startswith(f"{block}.") for block in blocks if block)


def _has_products(layers: list[LayerFacts]) -> bool:
    return any(layer.flops for layer in layers)


RULE = LayerRule(
    id="parallel-branches",
    title="many small branches instead of one layer",
    level="warning",
    reason="Rule G3 of ShuffleNetV2: fragmentation reduces parallelism. Three or more modules with weights and the same input run one "
    "after another, and each is too small to fill the machine. The cost is their time beyond the roof, the shortest possible time. A layer with all channels "
    "comes closer to the roof; it cannot save more than this cost.",
    find=find,
)
