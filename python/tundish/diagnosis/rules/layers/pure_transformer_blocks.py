"""Transformer blocks without a convolution in a model that has both (TRT-ViT)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import Measured, total
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers
from .stages import attention_layers, block_of, is_hybrid, spatial_convolutions


def find(measured: Measured) -> Iterator[SlowLayers]:
    if not is_hybrid(measured):
        return
    with_convolution = {one.name for one in spatial_convolutions(measured)}
    blocks = {}
    for one in attention_layers(measured):
        block = block_of(measured, one)
        inside = measured.under(block)
        if block and not any(layer.name in with_convolution for layer in inside):
            blocks[block] = total(inside)
    if blocks and measured.is_worth(sum(blocks.values())):
        names = some(sorted(blocks, key=lambda name: -blocks[name]), len(blocks))
        yield SlowLayers(
            f"{names}: blocks of attention alone take {measured.share(sum(blocks.values()))} of the time of a model that has convolutions too",
            "blocks that mix attention and a bottleneck convolution; compare accuracy and time",
            None,
        )


CHECK = LayerCheck(
    id="pure-transformer-blocks",
    title="blocks of attention alone in a hybrid model",
    level="note",
    why="Third rule of TRT-ViT: a block that mixes attention and a bottleneck convolution gives more accuracy for its time than a transformer "
    "block alone. What it gains, only a training run shows.",
    find=find,
)
