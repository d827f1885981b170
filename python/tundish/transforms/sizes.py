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
    """Crops a random window with a random aspect ratio and resizes it to a fixed size."""

    size: Size
    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Any = "bilinear"
    antialias: bool | None = True


@dataclass(frozen=True)
class Resize(Transform):
    """Resizes to (height, width). With a single number, resizes the shorter side and keeps the aspect ratio."""

    size: Size
    interpolation: Any = "bilinear"
    max_size: int | None = None
    antialias: bool | None = True
    draft: bool = False


@dataclass(frozen=True)
class CenterCrop(Transform):
    """Crops the center. Pads a smaller image with zeros."""

    size: Size


@dataclass(frozen=True)
class Pad(Transform):
    """Adds padding to the sides of the image."""

    padding: int | Sequence[int]
    fill: int | Sequence[int] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class PadTo(Transform):
    """Pads the image to a fixed size, at the right and at the bottom. Raises an error for a larger image."""

    size: int | Sequence[int]
    fill: int | Sequence[int] = 0


@dataclass(frozen=True)
class FiveCrop(Transform):
    """Crops the four corners and the center. A batch then has the shape (N, 5, C, H, W)."""

    size: Size


@dataclass(frozen=True)
class TenCrop(Transform):
    """Applies FiveCrop to the image and to its mirror image. A batch then has the shape (N, 10, C, H, W)."""

    size: Size
    vertical_flip: bool = False


@dataclass(frozen=True)
class RandomCrop(Transform):
    """Crops a random window of fixed size, after optional padding."""

    size: Size
    padding: int | Sequence[int] | None = None
    pad_if_needed: bool = False
    fill: int | Sequence[int] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class ScaleJitter(Transform):
    """Resizes to fit into `target_size` (width, height) times a random factor, keeping the aspect ratio."""

    target_size: Sequence[int]
    scale_range: Sequence[float] = (0.1, 2.0)
    interpolation: Any = "bilinear"
    antialias: bool | None = True


@dataclass(frozen=True)
class RandomShortestSize(Transform):
    """Resizes the shorter side to one of several lengths at random, keeping the aspect ratio."""

    min_size: int | Sequence[int]
    max_size: int | None = None
    interpolation: Any = "bilinear"
    antialias: bool | None = True


@dataclass(frozen=True)
class RandomResize(Transform):
    """Resizes the shorter side to a random length from min_size to max_size - 1, keeping the aspect ratio."""

    min_size: int
    max_size: int
    interpolation: Any = "bilinear"
    antialias: bool | None = True
