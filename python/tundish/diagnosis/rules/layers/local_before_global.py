"""Detects blocks with a convolution before the attention and no convolution after it (TRT-ViT)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule
from .stages import attention_layers, enclosing_block, spatial_convolutions


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    convolutions = spatial_convolutions(measured)
    attention = attention_layers(measured)
    blocks = []
    for candidate in attention:
        block = enclosing_block(measured, candidate)
        inside = {layer.name for layer in measured.under(block)} if block else set()
        if sum(other.name in inside for other in attention) != 1:
            continue  # a module with several attention layers is a stage, not a block
        orders = [conv.order for conv in convolutions if conv.name in inside]
        if orders and max(orders) < candidate.order:
            blocks.append(block)
    if blocks:
        yield LayerFinding(
            f"{name_list(blocks, len(blocks))}: the convolution precedes the attention of the block",
            "put the attention first and the convolution after it; compare accuracy",
            None,
        )


RULE = LayerRule(
    id="local-before-global",
    title="a convolution before the attention of its block",
    level="note",
    reason="Fourth rule of TRT-ViT: a block that mixes globally first and locally afterwards is more accurate in the same time. Only a training run "
    "shows the benefit.",
    find=find,
)
