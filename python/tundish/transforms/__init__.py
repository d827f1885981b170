"""Image transforms with the names, arguments and defaults of torchvision v2, run in C++ by the Loader.

Example:

    from tundish import transforms as T

    transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize()]
    loader = tundish.Loader("train.tnd", batch_size=256, transforms=transforms)
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
)  # range of a random factor, or its maximum distance from 1 (for a hue: from 0)


@dataclass(frozen=True)
class RandomHorizontalFlip(Transform):
    """Flips the image left to right with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomVerticalFlip(Transform):
    """Flips the image top to bottom with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomRotation(Transform):
    """Rotates the image counterclockwise by a random angle."""

    degrees: float | Sequence[float]
    interpolation: Any = "nearest"
    expand: bool = False
    center: Sequence[float] | None = None
    fill: int | Sequence[int] = 0


@dataclass(frozen=True)
class RandomAffine(Transform):
    """Rotates, translates, scales and shears the image by random amounts."""

    degrees: float | Sequence[float]
    translate: Sequence[float] | None = None
    scale: Sequence[float] | None = None
    shear: float | Sequence[float] | None = None
    interpolation: Any = "nearest"
    fill: int | Sequence[int] = 0
    center: Sequence[float] | None = None


@dataclass(frozen=True)
class RandomPerspective(Transform):
    """Applies a random perspective distortion with probability p."""

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: Any = "bilinear"
    fill: int | Sequence[int] = 0


@dataclass(frozen=True)
class ElasticTransform(Transform):
    """Displaces pixels at random. `alpha` sets the distance and `sigma` the smoothness."""

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
    """Converts the image to grayscale, with three equal channels."""

    num_output_channels: int = 1


@dataclass(frozen=True)
class RandomGrayscale(Transform):
    """Converts the image to grayscale, with three equal channels, with probability p."""

    p: float = 0.1


@dataclass(frozen=True)
class RandomPhotometricDistort(Transform):
    """Changes brightness, contrast, saturation, hue and channel order, each with probability p."""

    brightness: Sequence[float] = (0.875, 1.125)
    contrast: Sequence[float] = (0.5, 1.5)
    saturation: Sequence[float] = (0.5, 1.5)
    hue: Sequence[float] = (-0.05, 0.05)
    p: float = 0.5


@dataclass(frozen=True)
class RandomChannelPermutation(Transform):
    """Permutes the red, green and blue channels at random."""


@dataclass(frozen=True)
class RandomAdjustSharpness(Transform):
    """Changes the sharpness by a fixed factor with probability p."""

    sharpness_factor: float
    p: float = 0.5


@dataclass(frozen=True)
class RandomAutocontrast(Transform):
    """Stretches the values of each channel to the range 0..255 with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomEqualize(Transform):
    """Equalizes the histogram of each channel with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomInvert(Transform):
    """Inverts the colors with probability p."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomPosterize(Transform):
    """Keeps only the highest `bits` bits of each pixel value with probability p."""

    bits: int
    p: float = 0.5


@dataclass(frozen=True)
class RandomSolarize(Transform):
    """Inverts pixel values at or above a threshold with probability p."""

    threshold: float
    p: float = 0.5


@dataclass(frozen=True)
class GaussianBlur(Transform):
    """Blurs the image with a Gaussian kernel of fixed size and random sigma."""

    kernel_size: int | Sequence[int]
    sigma: float | Sequence[float] = (0.1, 2.0)


@dataclass(frozen=True)
class PillowGaussianBlur(Transform):
    """Applies Pillow's GaussianBlur with a random radius and with probability p, as timm and DINO do."""

    radius: float | Sequence[float] = (0.1, 2.0)
    p: float = 0.5


@dataclass(frozen=True)
class RandAugment(Transform):
    """Applies `num_ops` random operations from a list of 14, all with the same magnitude."""

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: Any = "nearest"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class TrivialAugmentWide(Transform):
    """Applies one random operation from a list of 14 with a random magnitude."""

    num_magnitude_bins: int = 31
    interpolation: Any = "nearest"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class AutoAugment(Transform):
    """Applies a random pair of operations from a policy that was learned on a dataset."""

    policy: Any = "imagenet"
    interpolation: Any = "nearest"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class AugMix(Transform):
    """Mixes the image with the results of several random chains of operations."""

    severity: int = 3
    mixture_width: int = 3
    chain_depth: int = -1
    alpha: float = 1.0
    all_ops: bool = True
    interpolation: Any = "bilinear"
    fill: int | Sequence[int] | None = None


@dataclass(frozen=True)
class RandomApply(Transform):
    """Applies all of its transforms with probability p; otherwise applies none."""

    transforms: Sequence[Transform]
    p: float = 0.5


@dataclass(frozen=True)
class RandomChoice(Transform):
    """Applies one of its transforms, chosen at random."""

    transforms: Sequence[Transform]
    p: Sequence[float] | None = None


@dataclass(frozen=True)
class RandomOrder(Transform):
    """Applies all of its transforms in random order."""

    transforms: Sequence[Transform]


@dataclass(frozen=True)
class RandomErasing(Transform):
    """Overwrites a random rectangle with probability p.

    The new content is a constant, or normally distributed noise with value="random". Before ToDtype and Normalize,
    this transform writes pixel values from 0 to 255; after them, elements of the batch.
    """

    p: float = 0.5
    scale: Sequence[float] = (0.02, 0.33)
    ratio: Sequence[float] = (0.3, 3.3)
    value: float | Sequence[float] | str = 0
    inplace: bool = False


@dataclass(frozen=True)
class GaussianNoise(Transform):
    """Adds normally distributed noise to each pixel value. `mean` and `sigma` are fractions of 255."""

    mean: float = 0.0
    sigma: float = 0.1
    clip: bool = True


@dataclass(frozen=True)
class JPEG(Transform):
    """Compresses the image to JPEG with a random quality and decompresses it, as Pillow does."""

    quality: int | Sequence[int]


@dataclass(frozen=True)
class MixUp(Transform):
    """Blends each image of the batch, and its label, with the previous image and label."""

    alpha: float = 1.0
    num_classes: int | None = None


@dataclass(frozen=True)
class CutMix(Transform):
    """Pastes a random box from the previous image of the batch into each image, and mixes their labels."""

    alpha: float = 1.0
    num_classes: int | None = None


@dataclass(frozen=True)
class Normalize(Transform):
    """Computes (x - mean) / std per channel in float32. Scales uint8 images to 0..1 first."""

    mean: Sequence[float] = (0.485, 0.456, 0.406)
    std: Sequence[float] = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class ToDtype(Transform):
    """Converts images to float32, float16, bfloat16 or uint8. With `scale`, values 0..255 become 0..1."""

    dtype: Any
    scale: bool = False


def __getattr__(name: str) -> Any:
    """Raises AttributeError for an unknown name, with a suggestion."""
    text = f"module {__name__!r} has no attribute {name!r}"
    if name[:1].isupper():  # perhaps the name of a torchvision transform
        have = [kind.__name__ for kind in Transform.__subclasses__()]
        advice = meant_or_instead(name, [*have, "Schedule"])
        text = f"tundish has no transform {name}: {advice}"
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
__all__ += [kind.__name__ for kind in Transform.__subclasses__()]
