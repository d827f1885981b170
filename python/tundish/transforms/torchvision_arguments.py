"""The arguments of a transform of torchvision, as the class of the same name here takes them.

torchvision is not imported: its classes are recognised by their names, and its objects are only read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from .._c.plain import plain
from .transform import Transform

_FILTERS = ("nearest", "bilinear", "bicubic")
OF_PILLOW = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # Pillow's constants


@dataclass(frozen=True)
class Kind:
    """What torchvision's list works on at a place: the class of the image."""

    package: str
    name: str

    def described(self) -> str:
        if self is EITHER:
            return "both a tv_tensors.Image and a plain tensor, and chance decides which it gets"
        return f"{self.package}'s {self.name}"

    def entry(self, table: Mapping[Any, Any]) -> tuple[Any, ...]:
        """Of a dict by class, with "others" for the rest: (value,), or () when there is none."""
        if self is EITHER:
            found = IMAGE.entry(table)
            return found if found == TENSOR.entry(table) else ()  # one entry for both
        for key, value in table.items():
            package = key.__module__.split(".")[0] if isinstance(key, type) else ""
            if package == self.package and key.__name__ == self.name:
                return (value,)
        return (table["others"],) if "others" in table else ()


PIL = Kind("PIL", "Image")
IMAGE = Kind("torchvision", "Image")  # tv_tensors.Image
TENSOR = Kind("torch", "Tensor")
EITHER = Kind("torchvision or torch", "Image or Tensor")  # chance decides


def united(one: Kind, other: Kind) -> Kind:
    """The kind of an image that chance makes one or the other."""
    return one if one is other else EITHER


def kind_after(theirs: Any, kind: Kind) -> Kind:
    """The kind that a transform makes of an image: v1 returns plain tensors, unless it returns what it was given."""
    if kind in (PIL, TENSOR) or is_v2(theirs) or type(theirs).__name__ == "RandomErasing":
        return kind
    p = getattr(theirs, "p", 1)
    return TENSOR if p >= 1 else kind if p <= 0 else EITHER


@dataclass(frozen=True)
class ImageState:
    """What torchvision's list has made of the image so far."""

    kind: Kind = PIL
    dtype: str = "uint8"
    normalized: bool = False
    made_by: str = ""  # what made it a tensor
    least_side: int = 0  # no side is shorter, as far as is known


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
    if isinstance(mode, int) and 0 <= mode < len(OF_PILLOW):
        mode = OF_PILLOW[mode]
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
            place.refuse(f"fill has no entry for {kind.described()}", "give one number, or three")
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


def three_numbers(value: Any) -> Any:
    """One number stands for all channels."""
    numbers = without_lists(plain(value))
    if not isinstance(numbers, tuple):
        return (numbers,) * 3
    return numbers * 3 if len(numbers) == 1 else numbers


def least_side(ours: Any, before: int) -> int:
    """No side is shorter after a transform of Tundish, as far as is known."""
    size = getattr(ours, "size", None)
    if size is None:
        return 0 if {"target_size", "min_size"} & set(vars(ours)) else before
    if isinstance(size, int):
        return 0 if getattr(ours, "max_size", None) else size
    return int(min(size))


def is_fixed_affine(ours: Any) -> bool:
    """Tells whether chance only moves the image, by whole pixels, after it was turned, scaled or sheared by fixed numbers.

    Pixels then lie on exact boundaries, where the last bit of a coefficient decides."""
    degrees, shear, scale = (getattr(ours, name) for name in ("degrees", "shear", "scale"))
    ranges = [degrees, scale or (1, 1), *((shear or (0, 0))[i : i + 2] for i in (0, 2))]
    fixed = all(len(set(one)) <= 1 for one in ranges)
    return fixed and any(number != 0 for number in (*degrees, *(shear or ())))
