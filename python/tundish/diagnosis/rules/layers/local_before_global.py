"""Blocks with a convolution before their attention, and none after it (TRT-ViT)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import Measured
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers
from .stages import attention_layers, block_of, spatial_convolutions


def find(measured: Measured) -> Iterator[SlowLayers]:
    convolutions = spatial_convolutions(measured)
    attention = attention_layers(measured)
    blocks = []
    for one in attention:
        block = block_of(measured, one)
        inside = {layer.name for layer in measured.under(block)} if block else set()
        if sum(other.name in inside for other in attention) != 1:
            continue  # a stage, not a block
        orders = [conv.order for conv in convolutions if conv.name in inside]
        if orders and max(orders) < one.order:
            blocks.append(block)
    if blocks:
        yield SlowLayers(
            f"{some(blocks, len(blocks))}: the convolution comes before the attention of the block",
            "attention first, the convolution after it; compare accuracy",
            None,
        )


CHECK = LayerCheck(
    id="local-before-global",
    title="a convolution before the attention of its block",
    level="note",
    why="Fourth rule of TRT-ViT: a block that looks at all positions first and at neighbours afterwards is more accurate at the same time. What "
    "it gains, only a training run shows.",
    find=find,
)
