"""The transforms: torchvision v2's names, arguments and defaults, carried out by the engine."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _library, checks
from ._library import TransformStruct

Size = int | Sequence[int]


def _width_height(size: Size) -> tuple[int, int]:
    """A side, or (height, width) as torchvision has it."""
    try:
        sides = [operator.index(s) for s in ([size] if isinstance(size, int) else size)]
    except TypeError:
        sides = []
    if len(sides) not in (1, 2) or not all(1 <= side < 2**31 for side in sides):
        raise ValueError(f"size must be a number of pixels or (height, width), not {size!r}")
    return sides[-1], sides[0]


def _pair(values: Sequence[float], name: str) -> list[float]:
    pair = [float(x) for x in values]
    if len(pair) != 2:
        raise ValueError(f"{name} must be two numbers, (min, max), not {values!r}")
    return pair


def _choice(table: dict[str, int], value: Any, what: str) -> int:
    # torch.float16 -> "float16", InterpolationMode.BILINEAR -> "bilinear"
    name = str(getattr(value, "value", value)).removeprefix("torch.")
    return checks.choice(table, name, what)


def _check_antialias(antialias: bool | None) -> None:
    if antialias is False:
        raise ValueError("antialias=False is not offered: every resize here is antialiased")


class Transform:
    """One step of the road from a decoded image to a batch."""

    def _fill(self, struct: TransformStruct) -> None:
        raise TypeError(f"{type(self).__name__} is not a transform of tundish")

    def _struct(self) -> TransformStruct:
        struct = TransformStruct()
        self._fill(struct)
        return struct


@dataclass(frozen=True)
class RandomResizedCrop(Transform):
    """A random part of random aspect ratio, resized to one size."""

    size: Size
    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Any = "bilinear"
    antialias: bool | None = True

    def _fill(self, struct: TransformStruct) -> None:
        _check_antialias(self.antialias)
        struct.kind = _library.RANDOM_RESIZED_CROP
        struct.width, struct.height = _width_height(self.size)
        struct.scale[:] = _pair(self.scale, "scale")
        struct.ratio[:] = _pair(self.ratio, "ratio")
        struct.filter = _choice(_library.FILTERS, self.interpolation, "interpolation")


@dataclass(frozen=True)
class Resize(Transform):
    """To (height, width), or the shorter side to a length."""

    size: Size
    interpolation: Any = "bilinear"
    max_size: int | None = None
    antialias: bool | None = True

    def _fill(self, struct: TransformStruct) -> None:
        _check_antialias(self.antialias)
        struct.kind = _library.RESIZE
        struct.width, struct.height = _width_height(self.size)
        if isinstance(self.size, int) or len(self.size) == 1:
            struct.height = 0
        struct.max_size = self.max_size or 0
        struct.filter = _choice(_library.FILTERS, self.interpolation, "interpolation")


@dataclass(frozen=True)
class CenterCrop(Transform):
    """The middle; a smaller image is padded with zeros."""

    size: Size

    def _fill(self, struct: TransformStruct) -> None:
        struct.kind = _library.CENTER_CROP
        struct.width, struct.height = _width_height(self.size)


@dataclass(frozen=True)
class RandomCrop(Transform):
    """A random window of fixed size, after optional padding."""

    size: Size
    padding: int | Sequence[int] | None = None
    pad_if_needed: bool = False
    fill: int | Sequence[int] = 0
    padding_mode: str = "constant"

    def _fill(self, struct: TransformStruct) -> None:
        struct.kind = _library.RANDOM_CROP
        struct.width, struct.height = _width_height(self.size)
        struct.padding[:] = self._padding()
        struct.pad_if_needed = self.pad_if_needed
        struct.pad_mode = _choice(_library.PAD_MODES, self.padding_mode, "padding_mode")
        fill = [self.fill] * 3 if isinstance(self.fill, int) else [int(x) for x in self.fill]
        if len(fill) != 3 or not all(0 <= x <= 255 for x in fill):
            raise ValueError(f"fill must be a level from 0 to 255, or three, not {self.fill!r}")
        struct.fill[:] = fill

    def _padding(self) -> list[int]:
        """Left, top, right, bottom."""
        if self.padding is None:
            return [0, 0, 0, 0]
        if isinstance(self.padding, int):
            return [self.padding] * 4
        sides = [int(x) for x in self.padding]
        if len(sides) == 1:
            return sides * 4
        if len(sides) == 2:
            return sides * 2
        if len(sides) == 4:
            return sides
        raise ValueError(f"padding must be one, two or four numbers, not {self.padding!r}")


@dataclass(frozen=True)
class RandomHorizontalFlip(Transform):
    """Left and right exchanged with probability p."""

    p: float = 0.5

    def _fill(self, struct: TransformStruct) -> None:
        struct.kind = _library.RANDOM_HORIZONTAL_FLIP
        struct.probability = self.p


@dataclass(frozen=True)
class RandomVerticalFlip(Transform):
    """Top and bottom exchanged with probability p."""

    p: float = 0.5

    def _fill(self, struct: TransformStruct) -> None:
        struct.kind = _library.RANDOM_VERTICAL_FLIP
        struct.probability = self.p


@dataclass(frozen=True)
class Normalize(Transform):
    """(x - mean) / std per channel, in float32; uint8 images are first scaled to 0..1."""

    mean: Sequence[float] = (0.485, 0.456, 0.406)
    std: Sequence[float] = (0.229, 0.224, 0.225)

    def _fill(self, struct: TransformStruct) -> None:
        if len(self.mean) != 3 or len(self.std) != 3:
            raise ValueError("Normalize needs three means and three standard deviations")
        struct.kind = _library.NORMALIZE
        struct.mean[:] = [float(x) for x in self.mean]
        struct.std[:] = [float(x) for x in self.std]


@dataclass(frozen=True)
class ToDtype(Transform):
    """To float32, float16, bfloat16 or uint8; with scale, levels 0..255 become 0..1."""

    dtype: Any
    scale: bool = False

    def _fill(self, struct: TransformStruct) -> None:
        struct.kind = _library.TO_DTYPE
        struct.dtype = _choice(_library.DTYPES, self.dtype, "dtype")
        struct.scale_values = self.scale


def pack_transforms(transforms: Sequence[Transform]) -> Any:
    """A C array of all transforms."""
    if isinstance(transforms, Transform):
        raise TypeError(f"transforms must be a list: transforms=[{transforms!r}]")
    for transform in transforms:
        if not isinstance(transform, Transform):
            raise TypeError(
                f"{transform!r} is not a transform of tundish: use tundish.RandomResizedCrop, "
                "tundish.Resize, tundish.Normalize, ... which take torchvision's arguments"
            )
    return (TransformStruct * len(transforms))(*[transform._struct() for transform in transforms])
