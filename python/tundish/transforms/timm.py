"""Transforms of timm that torchvision lacks. Where torchvision has the same name, the name begins with Timm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .schedule import Schedule
from .transform import Transform


@dataclass(frozen=True)
class TimmRandAugment(Transform):
    """timm's RandAugment, configured by a timm config string such as "rand-m9-mstd0.5-inc1".

    The sections after "rand" are: m, the magnitude; n, the number of operations; p, the probability of each operation;
    mstd, the standard deviation of the magnitude (above 100, the magnitude is uniform); mmax, the maximum magnitude.
    inc1 makes every operation stronger at a larger magnitude. tweights, t3a and t3aw select other lists of operations.
    """

    config: str = "rand-m9-mstd0.5-inc1"
    img_mean: int | Sequence[int] = (124, 116, 104)
    interpolation: str = "random"
    translate_pct: float = 0.45


@dataclass(frozen=True)
class TimmAutoAugment(Transform):
    """timm's AutoAugment policies (original, originalr, v0, v0r), or the 3-Augment of DeiT III ("3a")."""

    config: str = "original"
    img_mean: int | Sequence[int] = (124, 116, 104)
    interpolation: str = "random"
    translate_pct: float = 0.45


@dataclass(frozen=True)
class TimmRandomErasing(Transform):
    """timm's RandomErasing: overwrites random rectangles of the images in a batch, after Normalize."""

    probability: float = 0.5
    min_area: float = 0.02
    max_area: float = 1 / 3
    min_aspect: float = 0.3
    max_aspect: float | None = None
    mode: str = "const"
    min_count: int = 1
    max_count: int | None = None


@dataclass(frozen=True)
class ResizeKeepRatio(Transform):
    """Resizes to cover a size or to fit into it, optionally with a random scale and aspect ratio."""

    size: int | Sequence[int]
    longest: float = 0.0
    interpolation: str = "bilinear"
    random_scale_prob: float = 0.0
    random_scale_range: Sequence[float] = (0.85, 1.05)
    random_scale_area: bool = False
    random_aspect_prob: float = 0.0
    random_aspect_range: Sequence[float] = (0.9, 1.11)


@dataclass(frozen=True)
class CenterCropOrPad(Transform):
    """Crops the center. Pads a smaller image."""

    size: int | Sequence[int] | Schedule
    fill: int | Sequence[int] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class RandomCropOrPad(Transform):
    """Crops a random window. Pads a smaller image at a random position."""

    size: int | Sequence[int] | Schedule
    fill: int | Sequence[int] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class TrimBorder(Transform):
    """Removes `border_size` pixels from every side of the image."""

    border_size: int


@dataclass(frozen=True)
class TimmMixup(Transform):
    """timm's Mixup: applies MixUp or CutMix at random, with label smoothing."""

    mixup_alpha: float = 1.0
    cutmix_alpha: float = 0.0
    cutmix_minmax: Sequence[float] | None = None
    prob: float = 1.0
    switch_prob: float = 0.5
    mode: str = "batch"
    correct_lam: bool = True
    label_smoothing: float = 0.1
    num_classes: int | None = None
