"""The arguments of a transform of torchvision, as the class of the same name here takes them.

torchvision is not imported: its classes are recognised by their names, and its objects are only read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from .._c.plain import plain
from .base import Transform

_FILTERS = ("nearest", "bilinear", "bicubic")
_OF_PILLOW = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # Pillow's constants


@dataclass(frozen=True)
class Kind:
    """What torchvision's list works on at a place: the class of the image."""

    package: str
    name: str

    def entry(self, table: Mapping[Any, Any]) -> tuple[Any, ...]:
        """Of a dict by class, with "others" for the rest: (value,), or () when there is none."""
        for key, value in table.items():
            package = key.__module__.split(".")[0] if isinstance(key, type) else ""
            if package == self.package and key.__name__ == self.name:
                return (value,)
        return (table["others"],) if "others" in table else ()


PIL = Kind("PIL", "Image")
IMAGE = Kind("torchvision", "Image")  # tv_tensors.Image
TENSOR = Kind("torch", "Tensor")


@dataclass(frozen=True)
class Place:
    """A transform of torchvision and where it is in the list."""

    path: str
    theirs: Any

    def refuse(self, why: str, fix: str) -> NoReturn:
        text = " ".join(repr(self.theirs).split())
        shown = text if len(text) <= 200 else f"{text[:200]}..."
        raise ValueError(f"{self.path} cannot be translated: {shown}: {why}; fix: {fix}")


def without_lists(value: Any) -> Any:
    return tuple(without_lists(one) for one in value) if isinstance(value, list) else value


def _interpolation(value: Any, place: Place, kind: Kind) -> str:
    mode = plain(value)
    if isinstance(mode, int) and 0 <= mode < len(_OF_PILLOW):
        mode = _OF_PILLOW[mode]
    if mode not in _FILTERS:
        advice = f"use one of {', '.join(_FILTERS)}"
        if mode == "nearest-exact":
            advice = 'use "nearest", which gives the same pixels of a PIL image'
        place.refuse(f"interpolation={mode!r} is not offered", advice)
    return str(mode)


def _fill(value: Any, place: Place, kind: Kind) -> Any:
    name = type(place.theirs).__name__
    if name == "AugMix":
        kind = TENSOR  # also of a PIL image, which torchvision makes a tensor of
    of_tensors = kind is not PIL or name == "ElasticTransform"
    if isinstance(value, Mapping):
        found = kind.entry(value)
        if not found:
            place.refuse(
                f"fill has no entry for {kind.package}'s {kind.name}", "give one number, or three"
            )
        value = found[0]
    levels = without_lists(plain(value))
    if levels is None:
        return None
    many = levels if isinstance(levels, tuple) else (levels,)
    if of_tensors and any(level != int(level) for level in many):
        place.refuse(f"fill={value!r} is not a whole level", "give whole numbers from 0 to 255")
    whole = tuple(int(level) for level in many)  # as torchvision does for PIL images
    return whole if len(whole) == 3 else whole[0] if len(whole) == 1 else levels


def _padding(value: Any, place: Place, kind: Kind) -> Any:
    sides = without_lists(plain(value))
    if isinstance(sides, tuple) and len(sides) == 1:
        return sides[0]
    crop = type(place.theirs).__name__ == "RandomCrop" and is_v2(place.theirs)
    if crop and isinstance(sides, tuple) and len(sides) == 4:
        left, right, top, bottom = sides  # as v2's RandomCrop keeps them
        sides = (left, top, right, bottom)
    if isinstance(sides, tuple) and len(set(sides)) == 1:
        return sides[0]
    return sides


def _size(value: Any, place: Place, kind: Kind) -> Any:
    size = without_lists(plain(value))
    if size is None:
        place.refuse(
            "size=None is not offered", "give Resize the length of the shorter side as size"
        )
    if isinstance(size, tuple):
        if len(size) == 1:
            return size[0]
        if type(place.theirs).__name__ != "Resize" and size[0] == size[1]:
            return size[0]
    return size


def _sides(value: Any, place: Place, kind: Kind) -> Any:
    sides = without_lists(plain(value))
    return sides[0] if isinstance(sides, tuple) and len(sides) == 1 else sides  # v2 keeps a list


def _value(value: Any, place: Place, kind: Kind) -> Any:
    if value is None:  # what v2 makes of "random"
        return "random"
    numbers = without_lists(plain(value))
    return numbers[0] if isinstance(numbers, tuple) and len(numbers) == 1 else numbers


def _weights(value: Any, place: Place, kind: Kind) -> Any:
    numbers = without_lists(plain(value))
    if isinstance(numbers, tuple) and len(set(numbers)) == 1:
        return None  # v2 keeps equal numbers when none were given
    return numbers


_CONVERT: dict[str, Callable[[Any, Place, Kind], Any]] = {
    "interpolation": _interpolation,
    "fill": _fill,
    "padding": _padding,
    "size": _size,
    "min_size": _sides,
    "value": _value,
}


def is_v2(theirs: Any) -> bool:
    return ".v2" in type(theirs).__module__


def arguments(ours: type[Transform], place: Place, kind: Kind) -> dict[str, Any]:
    """Those of `place.theirs` for `ours`, the class of that name; not what it holds."""
    out: dict[str, Any] = {}
    for field in fields(ours):
        # Pillow antialiases every resize; torchvision ignores the argument. It has no draft mode.
        if field.name in ("antialias", "draft", "transforms"):
            continue
        if not hasattr(place.theirs, field.name):
            place.refuse(
                f"it has no attribute {field.name}, as torchvision 0.28 has",
                "write the transform of tundish.transforms with its arguments",
            )
        value = getattr(place.theirs, field.name)
        convert = _CONVERT.get(field.name)
        if field.name == "p" and ours.__name__ == "RandomChoice":
            convert = _weights
        out[field.name] = convert(value, place, kind) if convert else without_lists(plain(value))
    return out
