"""Detects attention at a fine resolution in models whose later stages are coarser (TRT-ViT)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, slowest_names, total
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule
from .stages import COARSER, attention_layers, mixers, token_count


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    order = mixers(measured)
    early = []
    for attention in attention_layers(measured):
        tokens = token_count(measured, attention)
        later = [count for other, count in order if other.order > attention.order]
        if later and tokens >= COARSER * min(later):
            early.append((attention, tokens, min(later)))
    inside = {
        id(layer): layer for attention, _, _ in early for layer in measured.under(attention.name)
    }
    cost = total(inside.values())
    if early and measured.is_significant(cost):
        names = name_list(slowest_names([attention for attention, _, _ in early]), len(early))
        most, least = max(tokens for _, tokens, _ in early), min(count for _, _, count in early)
        yield LayerFinding(
            f"{names}: attention over {most} positions takes {measured.share(cost)} of the model's time; a later stage has {least}",
            "use convolutions in early stages and attention in late ones, or windowed attention",
            cost,
        )


RULE = LayerRule(
    id="early-attention",
    title="attention in an early stage",
    level="warning",
    reason="First rule of TRT-ViT: transformer blocks belong in the late stages of a hybrid model. Attention over N positions costs N squared, and an "
    "early stage has four times as many positions as the next. The cost is the time of these attention layers.",
    find=find,
)
