"""Detects element-wise operations that take much of the time (rule G4 of ShuffleNetV2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, total
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule

SHARE = 0.25
BY_MEMORY = 0.2  # least fraction of the time due to memory bandwidth; below it, launches dominate


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    found = [layer for layer in measured.layers if layer.kind == "elementwise"]
    took = total(found)
    by_memory = sum(measured.memory_s(layer) for layer in found)
    if not measured.is_significant(took, SHARE) or by_memory < BY_MEMORY * took:
        return
    times: Counter[str] = Counter()
    for layer in found:
        times[layer.type] += 1
    names = name_list([f"{count} {name}" for name, count in times.most_common()], len(times))
    yield LayerFinding(
        f"{names}: element-wise operations take {measured.share(took)} of the model's time, with hardly any FLOPs",
        "use torch.compile, which fuses them with their neighbors (tundish tune tries it), inplace=True, or one activation less per block",
        took,
    )


RULE = LayerRule(
    id="elementwise-time",
    title="element-wise operations take a quarter of the time",
    level="warning",
    reason="Rule G4 of ShuffleNetV2: activations, additions and dropout have hardly any FLOPs, but read and write whole activations. The cost is "
    "their time, most of which a compiler saves by fusing them with the previous layer. Modules that only add or multiply count too.",
    find=find,
)
