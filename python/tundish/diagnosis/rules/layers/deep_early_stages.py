"""Detects hybrid vision models with more blocks at fine than at coarse resolution (TRT-ViT)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, total
from .layer_rule import LayerFinding, LayerRule
from .stages import level, mixers

DEEPER = 1.5
SHARE = 0.3


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    order = mixers(measured)
    if not order:
        return
    most = max(tokens for _, tokens in order)
    levels = [(mixer, level(tokens, most)) for mixer, tokens in order]
    depth = Counter(number for _, number in levels)
    used = sorted(depth)
    half = len(used) // 2
    early, late = used[:half], used[len(used) - half :]
    before, after = sum(depth[n] for n in early), sum(depth[n] for n in late)
    if len(used) < 2 or before < DEEPER * after:
        return
    inside = {
        id(layer): layer
        for mixer, number in levels
        if number in early
        for layer in measured.under(mixer.name)
    }
    cost = total(inside.values())
    if measured.is_significant(cost, SHARE):
        depths = ", ".join(str(depth[n]) for n in used)
        yield LayerFinding(
            f"the stages have {depths} attention and convolution layers, fine to coarse: the fine stages take {measured.share(cost)} of the time",
            "use fewer blocks in early stages and more in late ones, with the same total",
            cost,
        )


RULE = LayerRule(
    id="deep-early-stages",
    title="more blocks in early stages than in late ones",
    level="warning",
    reason="Second rule of TRT-ViT: shallow early stages and deep late stages are more accurate for the same time, because a block at a fine resolution costs "
    "several times as much as a block in a late stage. The cost is the time of attention and convolutions in the fine stages. Applies only to models with attention.",
    find=find,
)
