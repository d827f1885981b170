"""Reimplements the loader's random choices (base/random.h and augment/) in Python."""

from __future__ import annotations

import math
from collections.abc import Sequence


class Random:
    """The random generator of base/random.h. Each transform of each sample has its own stream."""

    def __init__(self, seed: int, epoch: int, sample: int, transform: str, number: int = 0) -> None:
        """Seeds the stream. `number` is the index among transforms of the same name."""
        self.stream = self.mix(seed)
        name = 0xCBF29CE484222325  # FNV-1a
        for byte in transform.encode():
            name = (name ^ byte) * 0x100000001B3 % 2**64
        for word in (epoch, sample, 0, 0, (name + number) % 2**64):
            self.stream = self.mix(self.mix(self.stream + 0x9E3779B97F4A7C15) ^ word)
        self.count = 0

    @staticmethod
    def mix(x: int) -> int:
        x %= 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    def next(self) -> int:
        self.count += 1
        return self.mix(self.stream + 0x9E3779B97F4A7C15 * self.count)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        return low + (high - low) * ((self.next() >> 11) * 2.0**-53)

    def below(self, bound: int) -> int:
        return self.next() * bound >> 64


def random_resized_window(
    random: Random, width: int, height: int, scale: Sequence[float], ratio: Sequence[float]
) -> tuple[int, int, int, int]:
    """Returns left, top, width and height, computed like torchvision but with our random numbers."""
    for _ in range(10):
        area = width * height * random.uniform(*scale)
        aspect = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            top = random.below(height - h + 1)
            return random.below(width - w + 1), top, w, h
    w, h = width, height
    if width / height < min(ratio):
        h = round(w / min(ratio))
    elif width / height > max(ratio):
        w = round(h * max(ratio))
    return (width - w) // 2, (height - h) // 2, w, h


def random_crop_corner(
    random: Random, padded: tuple[int, int], crop: tuple[int, int]
) -> tuple[int, int]:
    """Returns left and top of a RandomCrop in a padded image. Sizes are (width, height)."""
    room_x, room_y = padded[0] - crop[0], padded[1] - crop[1]
    top = random.below(room_y + 1) if room_y else 0
    return (random.below(room_x + 1) if room_x else 0), top
