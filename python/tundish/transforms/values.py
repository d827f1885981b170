"""Arithmetic on single values: torchvision v2's names, arguments and defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .base import Transform


@dataclass(frozen=True)
class Normalize(Transform):
    """(x - mean) / std per channel, in float32; uint8 images are first scaled to 0..1."""

    mean: Sequence[float] = (0.485, 0.456, 0.406)
    std: Sequence[float] = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class ToDtype(Transform):
    """Another element type: float32, float16, bfloat16 or uint8; with scale, levels 0..255 become 0..1."""

    dtype: Any
    scale: bool = False
