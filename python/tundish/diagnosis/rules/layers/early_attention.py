"""Attention at a fine resolution, where a later stage of the model has fewer positions (TRT-ViT)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import Measured, slowest_names, total
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers
from .stages import COARSER, attention_layers, mixers, tokens_of


def find(measured: Measured) -> Iterator[SlowLayers]:
    order = mixers(measured)
    early = []
    for one in attention_layers(measured):
        tokens = tokens_of(measured, one)
        later = [count for other, count in order if other.order > one.order]
        if later and tokens >= COARSER * min(later):
            early.append((one, tokens, min(later)))
    inside = {id(layer): layer for one, _, _ in early for layer in measured.under(one.name)}
    cost = total(inside.values())
    if early and measured.is_worth(cost):
        names = some(slowest_names([one for one, _, _ in early]), len(early))
        most, least = max(tokens for _, tokens, _ in early), min(count for _, _, count in early)
        yield SlowLayers(
            f"{names}: attention over {most} positions takes {measured.share(cost)} of the model's time; a later stage has {least}",
            "convolutions in the early stages, attention in the late ones; or attention in windows",
            cost,
        )


CHECK = LayerCheck(
    id="early-attention",
    title="attention in an early stage",
    level="warning",
    why="First rule of TRT-ViT: transformer blocks pay in the late stages of a hybrid model. Attention over N positions costs N squared, and an "
    "early stage has four times the positions of the next. The cost is the time of these attention layers.",
    find=find,
)
