"""Detects transformer blocks without a convolution in a hybrid model (TRT-ViT)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, total
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule
from .stages import attention_layers, enclosing_block, is_hybrid, spatial_convolutions


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    if not is_hybrid(measured):
        return
    with_convolution = {layer.name for layer in spatial_convolutions(measured)}
    blocks = {}
    for attention in attention_layers(measured):
        block = enclosing_block(measured, attention)
        inside = measured.under(block)
        if block and not any(layer.name in with_convolution for layer in inside):
            blocks[block] = total(inside)
    if blocks and measured.is_significant(sum(blocks.values())):
        names = name_list(sorted(blocks, key=lambda name: -blocks[name]), len(blocks))
        yield LayerFinding(
            f"{names}: blocks with only attention take {measured.share(sum(blocks.values()))} of the time in a model with convolutions",
            "use blocks that mix attention and a bottleneck convolution; compare accuracy and time",
            None,
        )


RULE = LayerRule(
    id="pure-transformer-blocks",
    title="blocks with only attention in a hybrid model",
    level="note",
    reason="Third rule of TRT-ViT: a block that mixes attention and a bottleneck convolution is more accurate for its time than a pure transformer "
    "block. Only a training run shows the benefit.",
    find=find,
)
