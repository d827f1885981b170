"""Attention and convolutions of a hybrid vision model by resolution: what the rules of TRT-ViT speak of."""

from __future__ import annotations

import math

from ...layers.measured_layers import Layer, Measured

COARSER = 4.0  # tokens of one stage over those of the next


def attention_layers(measured: Measured) -> list[Layer]:
    """Modules that multiply queries with keys and weigh values, in the order of their calls."""
    found = []
    for one in measured.layers:
        products = set(one.products)
        for child in measured.children(one.name):
            products |= {"softmax"} & set(child.products)
        if "attention" in products or {"softmax", "bmm"} <= products:
            found.append(one)
    return sorted(found, key=lambda one: one.order)


def tokens_of(measured: Measured, layer: Layer) -> int:
    return max([layer.tokens, *(child.tokens for child in measured.children(layer.name))])


def spatial_convolutions(measured: Measured) -> list[Layer]:
    """With a kernel beyond 1 x 1 that steps by 1: neither a stem nor a patch embedding."""
    return sorted(
        (
            one
            for one in measured.layers
            if one.conv
            and len(one.shape_out) == 4
            and max(one.conv["kernel_size"]) > 1
            and max(one.conv["stride"]) == 1
        ),
        key=lambda one: one.order,
    )


def pixels(layer: Layer) -> int:
    return int(layer.shape_out[-1] * layer.shape_out[-2])


def mixers(measured: Measured) -> list[tuple[Layer, int]]:
    """What mixes positions, with the number of positions, in the order of calls; empty without attention."""
    attention = attention_layers(measured)
    if not attention:
        return []
    found = [(one, tokens_of(measured, one)) for one in attention]
    found += [(one, pixels(one)) for one in spatial_convolutions(measured)]
    return sorted(found, key=lambda pair: pair[0].order)


def level(tokens: int, most: int) -> int:
    """0 for the finest resolution; one more for each quarter of its positions."""
    return round(math.log(max(1.0, most / max(1, tokens)), COARSER))


def block_of(measured: Measured, layer: Layer) -> str:
    """The smallest module around attention that has products of its own besides."""
    own = {one.name for one in measured.under(layer.name)}
    name = layer.name
    while name:
        name = name.rpartition(".")[0]
        if any(one.flops for one in measured.under(name) if one.name not in own):
            return name
    return ""


def is_hybrid(measured: Measured) -> bool:
    return bool(attention_layers(measured)) and len(spatial_convolutions(measured)) >= 2
