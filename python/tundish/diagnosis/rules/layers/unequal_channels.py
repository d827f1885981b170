"""Detects 1 x 1 convolutions with very unequal input and output widths (rule G1 of ShuffleNetV2)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, slowest_names
from ...probe.layers.layer_facts import LayerFacts
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule

RATIO = 1.3  # least ratio of activation bytes to a layer with equal widths; reached beyond 4.6 to 1
NOT_OVERHEAD = 0.1  # least fraction of the machine's limit; slower layers do not wait for memory


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    found, cost = [], 0.0
    for layer in measured.layers:
        ratio = excess(layer)
        by_memory = measured.memory_s(layer) > measured.compute_s(layer)
        if ratio >= RATIO and by_memory and measured.roof_s(layer) >= NOT_OVERHEAD * layer.seconds:
            found.append(layer)
            cost += layer.seconds * (1 - 1 / ratio)
    if found and measured.is_significant(cost):
        names = name_list(slowest_names(found), len(found))
        conv = max(found, key=lambda layer: layer.seconds).conv
        widths = f"{conv.in_channels} to {conv.out_channels} channels" if conv else ""
        yield LayerFinding(
            f"{names}: 1 x 1 convolutions of unequal widths ({widths}) wait for memory",
            "use a smaller expansion: with equal widths, the same FLOPs move fewer bytes",
            cost,
        )


def excess(layer: LayerFacts) -> float:
    """Returns the activation bytes relative to a layer with equal widths and the same FLOPs.

    Returns 0 if the layer is not a 1 x 1 convolution.
    """
    conv = layer.conv
    if conv is None or conv.groups != 1 or any(size != 1 for size in conv.kernel_size):
        return 0.0
    wide, narrow = conv.in_channels, conv.out_channels
    return float((wide + narrow) / (2 * math.sqrt(wide * narrow)))


RULE = LayerRule(
    id="unequal-channels",
    title="1 x 1 convolutions with unequal widths",
    level="warning",
    reason="Rule G1 of ShuffleNetV2: at equal FLOPs, a 1 x 1 convolution moves the fewest bytes if its input and output have the same number of "
    "channels. Only layers that wait for memory are reported. The cost is the time of the bytes that equal widths would save.",
    find=find,
)
