"""Finds the attention and convolution layers of a hybrid vision model by resolution (for TRT-ViT rules)."""

from __future__ import annotations

import math

from ...layers.measured_layers import MeasuredLayers
from ...probe.layers.layer_facts import LayerFacts

COARSER = 4.0  # number of tokens in a stage, relative to the next stage


def attention_layers(measured: MeasuredLayers) -> list[LayerFacts]:
    """Returns the modules that compute attention, in call order."""
    found = []
    for layer in measured.layers:
        products = set(layer.products)
        for child in measured.children(layer.name):
            products |= {"softmax"} & set(child.products)
        if "attention" in products or {"softmax", "bmm"} <= products:
            found.append(layer)
    return sorted(found, key=lambda layer: layer.order)


def token_count(measured: MeasuredLayers, layer: LayerFacts) -> int:
    return max([layer.tokens, *(child.tokens for child in measured.children(layer.name))])


def spatial_convolutions(measured: MeasuredLayers) -> list[LayerFacts]:
    """Returns convolutions larger than 1 x 1 with stride 1. This excludes stems and patch embeddings."""
    return sorted(
        (
            layer
            for layer in measured.layers
            if layer.conv
            and len(layer.shape_out) == 4
            and max(layer.conv.kernel_size) > 1
            and max(layer.conv.stride) == 1
        ),
        key=lambda layer: layer.order,
    )


def pixels(layer: LayerFacts) -> int:
    return int(layer.shape_out[-1] * layer.shape_out[-2])


def mixers(measured: MeasuredLayers) -> list[tuple[LayerFacts, int]]:
    """Returns (layer, number of positions) for each attention and convolution layer, in call order.

    Returns an empty list for a model without attention.
    """
    attention = attention_layers(measured)
    if not attention:
        return []
    found = [(layer, token_count(measured, layer)) for layer in attention]
    found += [(layer, pixels(layer)) for layer in spatial_convolutions(measured)]
    return sorted(found, key=lambda pair: pair[0].order)


def level(tokens: int, most: int) -> int:
    """Returns 0 for the finest resolution. The level rises by one when a quarter of the positions is left."""
    return round(math.log(max(1.0, most / max(1, tokens)), COARSER))


def enclosing_block(measured: MeasuredLayers, layer: LayerFacts) -> str:
    """Returns the smallest module around an attention layer that has other matrix operations."""
    own = {inner.name for inner in measured.under(layer.name)}
    name = layer.name
    while name:
        name = name.rpartition(".")[0]
        if any(inner.flops for inner in measured.under(name) if inner.name not in own):
            return name
    return ""


def is_hybrid(measured: MeasuredLayers) -> bool:
    return bool(attention_layers(measured)) and len(spatial_convolutions(measured)) >= 2
