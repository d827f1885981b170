"""Transforms that set the size of an image: crops, resizes, padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .schedule import Schedule
from .transform import Transform

Size = int | Sequence[int] | Schedule


@dataclass(frozen=True)
class RandomResizedCrop(Transform):
    """A random part of random aspect ratio, resized to one size."""

    size: Size
    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Any = "bilinear"
    antialias: bool | None = True


@dataclass(frozen=True)
class Resize(Transform):
    """To (height, width), or the shorter side to a length and the other in proportion."""

    size: Size
    interpolation: Any = "bilinear"
    max_size: int | None = None
    antialias: bool | None = True
    draft: bool = False


@dataclass(frozen=True)
class CenterCrop(Transform):
    """The middle; a smaller image is padded with zeros."""

    size: Size


@dataclass(frozen=True)
class Pad(Transform):
    """Pixels added around the image."""

    padding: int | Sequence[int]
    fill: int | Sequence[int] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class PadTo(Transform):
    """The image at the top left, and a level where it does not reach; a larger image is an error."""

    size: int | Sequence[int]
    fill: int | Sequence[int] = 0


@dataclass(frozen=True)
class FiveCrop(Transform):
    """The four corners and the middle: a batch is (N, 5, C, H, W)."""

    size: Size


@dataclass(frozen=True)
class TenCrop(Transform):
    """The four corners and the middle, then the same of the mirrored image: a batch is (N, 10, C, H, W)."""

    size: Size
    vertical_flip: bool = False


@dataclass(frozen=True)
class RandomCrop(Transform):
    """A random window of fixed size, after optional padding."""

    size: Size
    padding: int | Sequence[int] | None = None
    pad_if_needed: bool = False
    fill: int | Sequence[int] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class ScaleJitter(Transform):
    """As large as fits into a target size (width, height), times a random factor; the ratio stays."""

    target_size: Sequence[int]
    scale_range: Sequence[float] = (0.1, 2.0)
    interpolation: Any = "bilinear"
    antialias: bool | None = True


@dataclass(frozen=True)
class RandomShortestSize(Transform):
    """The shorter side to one of several lengths, and the other in proportion."""

    min_size: int | Sequence[int]
    max_size: int | None = None
    interpolation: Any = "bilinear"
    antialias: bool | None = True


@dataclass(frozen=True)
class RandomResize(Transform):
    """The shorter side to a random length from min_size to max_size - 1, and the other in proportion."""

    min_size: int
    max_size: int
    interpolation: Any = "bilinear"
    antialias: bool | None = True
