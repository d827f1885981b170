"""More blocks in the fine stages of a hybrid model than in the coarse ones (TRT-ViT)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...layers.measured_layers import Measured, total
from .layer_rule import LayerCheck, SlowLayers
from .stages import level, mixers

DEEPER = 1.5
SHARE = 0.3


def find(measured: Measured) -> Iterator[SlowLayers]:
    order = mixers(measured)
    if not order:
        return
    most = max(tokens for _, tokens in order)
    levels = [(one, level(tokens, most)) for one, tokens in order]
    depth = Counter(number for _, number in levels)
    used = sorted(depth)
    half = len(used) // 2
    early, late = used[:half], used[len(used) - half :]
    before, after = sum(depth[n] for n in early), sum(depth[n] for n in late)
    if len(used) < 2 or before < DEEPER * after:
        return
    inside = {
        id(layer): layer
        for one, number in levels
        if number in early
        for layer in measured.under(one.name)
    }
    cost = total(inside.values())
    if measured.is_worth(cost, SHARE):
        depths = ", ".join(str(depth[n]) for n in used)
        yield SlowLayers(
            f"the stages have {depths} layers that mix positions, fine to coarse: the fine ones take {measured.share(cost)} of the time",
            "few blocks in the first stages, more in the late ones, with the same number in all",
            cost,
        )


CHECK = LayerCheck(
    id="deep-early-stages",
    title="more blocks in early stages than in late ones",
    level="warning",
    why="Second rule of TRT-ViT: stages that are shallow first and deep later give more accuracy for the same time, because a block at a fine "
    "resolution costs a multiple of a late one. The cost is the time of attention and convolutions in the fine stages. Only models with attention are meant.",
    find=find,
)
