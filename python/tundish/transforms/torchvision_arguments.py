"""Converts the arguments of a torchvision transform for the Tundish transform of the same name.

This module does not import torchvision. It recognizes torchvision's classes by name and only reads their objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from .._c.plain import plain
from .transform import Transform

_FILTERS = ("nearest", "bilinear", "bicubic")
PILLOW_FILTERS = (
    "nearest",
    "lanczos",
    "bilinear",
    "bicubic",
    "box",
    "hamming",
)  # Pillow's constants


@dataclass(frozen=True)
class Kind:
    """The type of the image at one position of torchvision's list."""

    package: str
    name: str

    def described(self) -> str:
        if self is EITHER:
            return "a tv_tensors.Image or a plain tensor, at random"
        return f"{self.package}'s {self.name}"

    def lookup(self, table: Mapping[Any, Any]) -> tuple[Any, ...]:
        """Looks up this type in a dict whose default key is "others". Returns (value,), or () without an entry."""
        if self is EITHER:
            found = IMAGE.lookup(table)
            return found if found == TENSOR.lookup(table) else ()  # the same entry for both
        for key, value in table.items():
            package = key.__module__.split(".")[0] if isinstance(key, type) else ""
            if package == self.package and key.__name__ == self.name:
                return (value,)
        return (table["others"],) if "others" in table else ()


PIL = Kind("PIL", "Image")
IMAGE = Kind("torchvision", "Image")  # tv_tensors.Image
TENSOR = Kind("torch", "Tensor")
EITHER = Kind("torchvision or torch", "Image or Tensor")  # decided at random


def united(first: Kind, other: Kind) -> Kind:
    """Returns the kind of an image that has one of two kinds at random."""
    return first if first is other else EITHER


def kind_after(original: Any, kind: Kind) -> Kind:
    """Returns the kind after a transform. A v1 transform returns its input or a plain tensor."""
    if kind in (PIL, TENSOR) or is_v2(original) or type(original).__name__ == "RandomErasing":
        return kind
    p = getattr(original, "p", 1)
    return TENSOR if p >= 1 else kind if p <= 0 else EITHER


@dataclass(frozen=True)
class ImageState:
    """The state of the image after the transforms so far."""

    kind: Kind = PIL
    dtype: str = "uint8"
    normalized: bool = False
    made_by: str = ""  # transform that converted the image to a tensor
    least_side: int = 0  # known lower bound of width and height


@dataclass(frozen=True)
class ListEntry:
    """A torchvision transform and its position in the list."""

    path: str
    original: Any

    def refuse(self, why: str, fix: str) -> NoReturn:
        text = " ".join(repr(self.original).split())
        shown = text if len(text) <= 200 else f"{text[:200]}..."
        raise ValueError(f"{self.path} cannot be translated: {shown}: {why}; fix: {fix}")


def without_lists(value: Any) -> Any:
    return tuple(without_lists(item) for item in value) if isinstance(value, list) else value


def _interpolation(value: Any, entry: ListEntry, kind: Kind) -> str:
    mode = plain(value)
    if isinstance(mode, int) and 0 <= mode < len(PILLOW_FILTERS):
        mode = PILLOW_FILTERS[mode]
    if mode not in _FILTERS:
        advice = f"use one of {', '.join(_FILTERS)}"
        if mode == "nearest-exact":
            advice = 'use "nearest", which gives the same pixels for a PIL image'
        entry.refuse(f"interpolation={mode!r} is not supported", advice)
    return str(mode)


def _fill(value: Any, entry: ListEntry, kind: Kind) -> Any:
    name = type(entry.original).__name__
    if name == "AugMix":
        kind = TENSOR  # even for a PIL image, which torchvision converts to a tensor
    of_tensors = kind is not PIL or name == "ElasticTransform"
    if isinstance(value, Mapping):
        found = kind.lookup(value)
        if not found:
            entry.refuse(f"fill has no entry for {kind.described()}", "pass one number, or three")
        value = found[0]
    levels = without_lists(plain(value))
    if levels is None:
        return None
    many = levels if isinstance(levels, tuple) else (levels,)
    if of_tensors and any(level != int(level) for level in many):
        entry.refuse(f"fill={value!r} is not a whole level", "pass whole numbers from 0 to 255")
    whole = tuple(int(level) for level in many)  # as torchvision does for PIL images
    return whole if len(whole) == 3 else whole[0] if len(whole) == 1 else levels


def _padding(value: Any, entry: ListEntry, kind: Kind) -> Any:
    sides = without_lists(plain(value))
    if isinstance(sides, tuple) and len(sides) == 1:
        return sides[0]
    crop = type(entry.original).__name__ == "RandomCrop" and is_v2(entry.original)
    if crop and isinstance(sides, tuple) and len(sides) == 4:
        left, right, top, bottom = sides  # the order in v2's RandomCrop
        sides = (left, top, right, bottom)
    if isinstance(sides, tuple) and len(set(sides)) == 1:
        return sides[0]
    return sides


def _size(value: Any, entry: ListEntry, kind: Kind) -> Any:
    size = without_lists(plain(value))
    if size is None:
        entry.refuse("size=None is not supported", "pass the length of the shorter side as size")
    if isinstance(size, tuple):
        if len(size) == 1:
            return size[0]
        if type(entry.original).__name__ != "Resize" and size[0] == size[1]:
            return size[0]
    return size


def _sides(value: Any, entry: ListEntry, kind: Kind) -> Any:
    sides = without_lists(plain(value))
    return sides[0] if isinstance(sides, tuple) and len(sides) == 1 else sides  # v2 keeps a list


def _value(value: Any, entry: ListEntry, kind: Kind) -> Any:
    if value is None:  # v2's value for "random"
        return "random"
    numbers = without_lists(plain(value))
    return numbers[0] if isinstance(numbers, tuple) and len(numbers) == 1 else numbers


def _weights(value: Any, entry: ListEntry, kind: Kind) -> Any:
    numbers = without_lists(plain(value))
    if isinstance(numbers, tuple) and len(set(numbers)) == 1:
        return None  # v2 keeps equal weights if none were given
    return numbers


_CONVERT: dict[str, Callable[[Any, ListEntry, Kind], Any]] = {
    "interpolation": _interpolation,
    "fill": _fill,
    "padding": _padding,
    "size": _size,
    "min_size": _sides,
    "value": _value,
}


def is_v2(original: Any) -> bool:
    return ".v2" in type(original).__module__


def arguments(target: type[Transform], entry: ListEntry, kind: Kind) -> dict[str, Any]:
    """Returns the arguments for `target`, the class with the name of `entry.original`, without inner transforms."""
    out: dict[str, Any] = {}
    for field in fields(target):
        # For PIL images torchvision ignores antialias, because Pillow always antialiases. It has no draft mode.
        if field.name in ("antialias", "draft", "transforms"):
            continue
        if not hasattr(entry.original, field.name):
            entry.refuse(
                f"it has no attribute {field.name}, unlike in torchvision 0.28",
                "use the transform of tundish.transforms with its arguments",
            )
        value = getattr(entry.original, field.name)
        convert = _CONVERT.get(field.name)
        if field.name == "p" and target.__name__ == "RandomChoice":
            convert = _weights
        out[field.name] = convert(value, entry, kind) if convert else without_lists(plain(value))
    return out


def three_numbers(value: Any) -> Any:
    """Returns one number per channel; a single number applies to all channels."""
    numbers = without_lists(plain(value))
    if not isinstance(numbers, tuple):
        return (numbers,) * 3
    return numbers * 3 if len(numbers) == 1 else numbers


def least_side(target: Any, before: int) -> int:
    """Returns a lower bound of width and height after a Tundish transform; 0 if unknown."""
    size = getattr(target, "size", None)
    if size is None:
        return 0 if {"target_size", "min_size"} & set(vars(target)) else before
    if isinstance(size, int):
        return 0 if getattr(target, "max_size", None) else size
    return int(min(size))


def is_fixed_affine(target: Any) -> bool:
    """Returns whether the only random part is a shift by whole pixels, after a fixed rotation, scale or shear.

    Pixels then lie exactly on boundaries, where the last bit of a coefficient decides the result.
    """
    degrees, shear, scale = (getattr(target, name) for name in ("degrees", "shear", "scale"))
    ranges = [degrees, scale or (1, 1), *((shear or (0, 0))[i : i + 2] for i in (0, 2))]
    fixed = all(len(set(bounds)) <= 1 for bounds in ranges)
    return fixed and any(number != 0 for number in (*degrees, *(shear or ())))
