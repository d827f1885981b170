"""The tensors that optimizers update: shapes in the order of the model's parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ShapeSet:
    shapes: Sequence[Shape]
    matrices: Sequence[Shape] = ()  # shapes of the hidden layers' matrices, for Muon

    @property
    def elements(self) -> int:
        return sum(map(math.prod, self.shapes))


def _convolution(out: int, channels: int, side: int) -> list[Shape]:
    """Returns the shapes of a kernel, and of the weight and bias of the following batch norm."""
    return [(out, channels, side, side), (out,), (out,)]


def resnet50() -> ShapeSet:
    """Returns the shapes of torchvision's ResNet-50: 161 tensors, 25.6 M elements."""
    shapes = _convolution(64, 3, 7)
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            shapes += _convolution(width, channels, 1) + _convolution(width, width, 3)
            shapes += _convolution(4 * width, width, 1)
            if block == 0:
                shapes += _convolution(4 * width, channels, 1)
            channels = 4 * width
    return ShapeSet([*shapes, (1000, channels), (1000,)])


def vit_b() -> ShapeSet:
    """Returns the shapes of torchvision's ViT-B/16: 152 tensors, 86.6 M elements."""
    width = 768
    matrices = [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
    attention: list[Shape] = [matrices[0], (3 * width,), matrices[1], (width,)]
    layers: list[Shape] = [matrices[2], (4 * width,), matrices[3], (width,)]
    norm: list[Shape] = [(width,), (width,)]
    head: list[Shape] = [(1000, width), (1000,)]
    shapes = [(1, 1, width), (width, 3, 16, 16), (width,), (1, 197, width)]
    shapes += 12 * [*norm, *attention, *norm, *layers]
    return ShapeSet([*shapes, *norm, *head], 12 * matrices)


def small500() -> ShapeSet:
    """Returns the shapes of 500 small tensors, for which the host's time dominates."""
    return ShapeSet(500 * [(64, 64)], 500 * [(64, 64)])


def tiny() -> ShapeSet:
    """Returns a tiny set, for tests of this benchmark."""
    return ShapeSet([(3,), (17, 5), (64, 64), (2, 3, 3, 3)], [(64, 64), (17, 5)])


SETS = {"vit_b": vit_b, "resnet50": resnet50, "small500": small500, "tiny": tiny}
