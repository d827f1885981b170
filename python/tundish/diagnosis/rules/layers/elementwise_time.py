"""Activations, additions and the like that take a large part of the time (G4 of ShuffleNetV2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...layers.measured_layers import Measured, total
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers

SHARE = 0.25
BY_MEMORY = 0.2  # of their time is bytes at the roof's rate; below, it is the cost of launching


def find(measured: Measured) -> Iterator[SlowLayers]:
    found = [one for one in measured.layers if one.kind == "elementwise"]
    took = total(found)
    by_memory = sum(measured.memory_s(one) for one in found)
    if not measured.is_worth(took, SHARE) or by_memory < BY_MEMORY * took:
        return
    times: Counter[str] = Counter()
    for one in found:
        times[one.type] += 1
    names = some([f"{count} {name}" for name, count in times.most_common()], len(times))
    yield SlowLayers(
        f"{names}: element-wise operations take {measured.share(took)} of the model's time, and no FLOPs worth counting",
        "torch.compile joins them with their neighbours (tundish tune tries it); inplace=True; one activation less per block",
        took,
    )


CHECK = LayerCheck(
    id="elementwise-time",
    title="element-wise operations take a quarter of the time",
    level="warning",
    why="Rule G4 of ShuffleNetV2: activations, additions and dropout have hardly any FLOPs, but read and write whole activations. The cost is "
    "their time, of which a compiler that joins them with the layer before them saves most. Modules that only add or multiply count too.",
    find=find,
)
