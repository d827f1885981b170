"""Many small layers beside each other where one wider layer would do (G3 of ShuffleNetV2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...layers.measured_layers import Layer, Measured, percent, total
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers

BRANCHES = 3
FAR_BELOW = 0.25  # of the roof: the machine is not filled


def find(measured: Measured) -> Iterator[SlowLayers]:
    found: dict[str, list[Layer]] = {}
    for block in measured.layers:
        branches = [
            inside for name in block.branches if _has_products(inside := measured.under(name))
        ]
        layers = list({id(one): one for inside in branches for one in inside}.values())
        if len(branches) < BRANCHES or _is_inside(block.name, found):
            continue
        if sum(measured.roof_s(one) for one in layers) < FAR_BELOW * total(layers):
            found[block.name] = layers
    layers = list({id(one): one for inside in found.values() for one in inside}.values())
    cost = total(layers) - sum(measured.roof_s(one) for one in layers)
    if layers and measured.is_worth(cost):
        names = some([name or "the model" for name in found], len(found))
        reached = sum(measured.roof_s(one) for one in layers) / total(layers)
        yield SlowLayers(
            f"{names}: branches of one input run one after another, each too small for the machine ({percent(reached)} of its roof)",
            "one layer with the channels of all branches, or fewer branches; query, key and value in one Linear",
            cost,
        )


def _is_inside(name: str, blocks: Iterable[str]) -> bool:
    return any(name.startswith(f"{block}.") for block in blocks if block)


def _has_products(layers: list[Layer]) -> bool:
    return any(one.flops for one in layers)


CHECK = LayerCheck(
    id="parallel-branches",
    title="many small branches instead of one layer",
    level="warning",
    why="Rule G3 of ShuffleNetV2: fragmentation lowers parallelism. Three and more modules with weights that get the same input run one "
    "after another, and each is too small to fill the machine. The cost is their time beyond the roof, which a layer with all channels "
    "comes nearer to; it cannot gain more than that.",
    find=find,
)
