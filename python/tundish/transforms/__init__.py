"""The transforms: torchvision v2's names, arguments and defaults, carried out by the engine.

from tundish import transforms as T

transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize()]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._c.close_name import close_name
from .apply import apply as apply
from .apply import plan as plan
from .as_json import from_json as from_json
from .as_json import to_json as to_json
from .from_timm import from_timm as from_timm
from .from_torchvision import from_torchvision as from_torchvision
from .replacements import meant_or_instead
from .schedule import Schedule as Schedule
from .sizes import CenterCrop as CenterCrop
from .sizes import FiveCrop as FiveCrop
from .sizes import Pad as Pad
from .sizes import PadTo as PadTo
from .sizes import RandomCrop as RandomCrop
from .sizes import RandomResize as RandomResize
from .sizes import RandomResizedCrop as RandomResizedCrop
from .sizes import RandomShortestSize as RandomShortestSize
from .sizes import Resize as Resize
from .sizes import ScaleJitter as ScaleJitter
from .sizes import TenCrop as TenCrop
from .timm import CenterCropOrPad as CenterCropOrPad
from .timm import RandomCropOrPad as RandomCropOrPad
from .timm import ResizeKeepRatio as ResizeKeepRatio
from .timm import TimmAutoAugment as TimmAutoAugment
from .timm import TimmMixup as TimmMixup
from .timm import TimmRandAugment as TimmRandAugment
from .timm import TimmRandomErasing as TimmRandomErasing
from .timm import TrimBorder as TrimBorder
from .transform import Transform as Transform

Spread = (
    float | Sequence[float] | None
)  # of a factor: how far from 1 (of a hue: from 0), or its range


@dataclass(frozen=True)
class RandomHorizontalFlip(Transform):
    """Exchanges left and right with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomVerticalFlip(Transform):
    """Exchanges top and bottom with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomRotation(Transform):
    """Turned by a random angle, counter-clockwise."""

    degrees: float | Sequence[float]
    interpolation: Any = "nearest"
    expand: bool = False
    center: Sequence[float] | None = None
    fill: int | Sequence[int] = 0


@dataclass(frozen=True)
class RandomAffine(Transform):
    """Turned, moved, scaled and sheared by random amounts."""

    degrees: float | Sequence[float]
    translate: Sequence[float] | None = None
    scale: Sequence[float] | None = None
    shear: float | Sequence[float] | None = None
    interpolation: Any = "nearest"
    fill: int | Sequence[int] = 0
    center: Sequence[float] | None = None


@dataclass(frozen=True)
class RandomPerspective(Transform):
    """As if seen from a random side, with probability p."""

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: Any = "bilinear"
    fill: int | Sequence[int] = 0


@dataclass(frozen=True)
class ElasticTransform(Transform):
    """Every pixel moves by a random distance, and its neighbours with it: alpha says how far, sigma how smoothly."""

    alpha: float | Sequence[float] = 50.0
    sigma: float | Sequence[float] = 5.0
    interpolation: Any = "bilinear"
    fill: int | Sequence[int] | None = 0


@dataclass(frozen=True)
class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in random order."""

    brightness: Spread = None
    contrast: Spread = None
    saturation: Spread = None
    hue: Spread = None


@dataclass(frozen=True)
class Grayscale(Transform):
    """Colours become greys, in three equal channels."""

    num_output_channels: int = 1


@dataclass(frozen=True)
class RandomGrayscale(Transform):
    """Colours become greys, with probability p."""

    p: float = 0.1


@dataclass(frozen=True)
class RandomPhotometricDistort(Transform):
    """Changes brightness, contrast, saturation, hue and the order of the channels, each with probability p."""

    brightness: Sequence[float] = (0.875, 1.125)
    contrast: Sequence[float] = (0.5, 1.5)
    saturation: Sequence[float] = (0.5, 1.5)
    hue: Sequence[float] = (-0.05, 0.05)
    p: float = 0.5


@dataclass(frozen=True)
class RandomChannelPermutation(Transform):
    """Puts red, green and blue in random order."""


@dataclass(frozen=True)
class RandomAdjustSharpness(Transform):
    """Sharpens or smooths with probability p."""

    sharpness_factor: float
    p: float = 0.5


@dataclass(frozen=True)
class RandomAutocontrast(Transform):
    """Stretches the levels of each channel to 0..255, with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomEqualize(Transform):
    """Makes the levels of each channel equally frequent, with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomInvert(Transform):
    """Inverts the colours with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomPosterize(Transform):
    """Keeps the highest bits of each level, with probability p."""

    bits: int
    p: float = 0.5


@dataclass(frozen=True)
class RandomSolarize(Transform):
    """Inverts the levels from a threshold on, with probability p."""

    threshold: float
    p: float = 0.5


@dataclass(frozen=True)
class GaussianBlur(Transform):
    """Blurs with a Gaussian kernel of fixed size, whose sigma is drawn from a range."""

    kernel_size: int | Sequence[int]
    sigma: float | Sequence[float] = (0.1, 2.0)


@dataclass(frozen=True)
class PillowGaussianBlur(Transform):
    """Pillow's ImageFilter.GaussianBlur with probability p, its radius drawn from a range: the blur of timm and DINO."""

    radius: float | Sequence[float] = (0.1, 2.0)
    p: float = 0.5


@dataclass(frozen=True)
class RandAugment(Transform):
    """A few operations of a list of 14, each as strong as the others."""

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: Any = "nearest"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class TrivialAugmentWide(Transform):
    """One operation of a list of 14, as strong as chance says."""

    num_magnitude_bins: int = 31
    interpolation: Any = "nearest"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class AutoAugment(Transform):
    """Two operations that were found by a search on a data set."""

    policy: Any = "imagenet"
    interpolation: Any = "nearest"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class AugMix(Transform):
    """A weighted sum of the image and of results of several chains of operations."""

    severity: int = 3
    mixture_width: int = 3
    chain_depth: int = -1
    alpha: float = 1.0
    all_ops: bool = True
    interpolation: Any = "bilinear"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class RandomApply(Transform):
    """All of its transforms with probability p, or none."""

    transforms: Sequence[Transform]
    p: float = 0.5


@dataclass(frozen=True)
class RandomChoice(Transform):
    """One of its transforms."""

    transforms: Sequence[Transform]
    p: Sequence[float] | None = None


@dataclass(frozen=True)
class RandomOrder(Transform):
    """All of its transforms, in a random order."""

    transforms: Sequence[Transform]


@dataclass(frozen=True)
class RandomErasing(Transform):
    """Overwrites a random window with a value or with normal numbers ("random"), with probability p.

    Before ToDtype and Normalize on levels, after them on the elements of the batch."""

    p: float = 0.5
    scale: Sequence[float] = (0.02, 0.33)
    ratio: Sequence[float] = (0.3, 3.3)
    value: float | Sequence[float] | str = 0
    inplace: bool = False


@dataclass(frozen=True)
class GaussianNoise(Transform):
    """Adds a normal random number to each level; mean and sigma are shares of 255."""

    mean: float = 0.0
    sigma: float = 0.1
    clip: bool = True


@dataclass(frozen=True)
class JPEG(Transform):
    """Compresses as a JPEG and decompresses, as Pillow does it; the quality is drawn from a range."""

    quality: int | Sequence[int]


@dataclass(frozen=True)
class MixUp(Transform):
    """Blends each image of the batch with the one before it, and their labels."""

    alpha: float = 1.0
    num_classes: int | None = None


@dataclass(frozen=True)
class CutMix(Transform):
    """Pastes a random box of the image before it into each image of the batch, and mixes their labels."""

    alpha: float = 1.0
    num_classes: int | None = None


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


def __getattr__(name: str) -> Any:
    """Of a name that is not here."""
    text = f"module {__name__!r} has no attribute {name!r}"
    if name[:1].isupper():  # a transform, perhaps of torchvision
        have = [one.__name__ for one in Transform.__subclasses__()]
        advice = meant_or_instead(name, [*have, "Schedule"])
        text = f"tundish has no transform {name}: {advice}{'' if advice.endswith('?') else '.'} It has: {', '.join(have)}"
    elif not name.startswith("_") and (close := close_name(name, __all__)):
        text += f": did you mean {close}?"
    raise AttributeError(text, name=name)


__all__ = [
    "Schedule",
    "Transform",
    "apply",
    "from_json",
    "from_timm",
    "from_torchvision",
    "plan",
    "to_json",
]
__all__ += [one.__name__ for one in Transform.__subclasses__()]
