"""Refuses array fields, such as masks, that would no longer match their transformed image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..open_source import Source
from ..settings.loader_options import LoaderOptions

# Transforms that keep every pixel in place. All other transforms move pixels or mix images.
_IN_PLACE = frozenset(
    {
        "ColorJitter",
        "GaussianBlur",
        "GaussianNoise",
        "Grayscale",
        "JPEG",
        "Normalize",
        "PillowGaussianBlur",
        "RandomAdjustSharpness",
        "RandomAutocontrast",
        "RandomChannelPermutation",
        "RandomEqualize",
        "RandomErasing",
        "RandomGrayscale",
        "RandomInvert",
        "RandomPhotometricDistort",
        "RandomPosterize",
        "RandomSolarize",
        "TimmRandomErasing",
        "ToDtype",
    }
)
_LISTS = frozenset({"RandomApply", "RandomChoice", "RandomOrder"})


def array_fields(source: Source) -> list[str]:
    """Returns the names of the fields that could be a mask, boxes or keypoints of the image."""
    if "image" not in dict(source.fields).values():
        return []
    vector = "label" if source.label_vectors else None
    return [
        name
        for name, kind in source.fields
        if kind not in ("image", "label")
        and name != vector
        and (source.arrays[name][1] != () if name in source.arrays else kind == "array")
    ]


def check_fields(source: Source, options: LoaderOptions) -> None:
    """Raises ValueError for an array field that would not match a geometrically transformed image."""
    kept = _names(options.untransformed)
    for name in kept:
        if name not in dict(source.fields):
            known = ", ".join(repr(known) for known, _ in source.fields)
            raise ValueError(f"untransformed names {name!r}, which is not a field; fields: {known}")
    if not options.as_dict:
        return  # a batch that is a tuple has no fields other than image and label
    left = [name for name in array_fields(source) if name not in kept]
    moves = _moves_of(options)
    if left and moves:
        names = ", ".join(repr(name) for name in left)
        raise ValueError(
            f"{moves} changes the geometry of the image, and the array field {names} would stay as stored: "
            "a mask or a box would no longer fit its image\n"
            f"  fix: leave out {moves}; or, for an array that is not tied to pixels, "
            f"untransformed={(*kept, *left)!r}"
        )


def _names(given: Any) -> list[str]:
    if isinstance(given, str):
        raise TypeError(f"untransformed must be a list of names: untransformed=({given!r},)")
    return list(given)


def _moves_of(options: LoaderOptions) -> str:
    """Returns the first option or transform that changes the geometry, or an empty string."""
    if options.pad_to is not None:
        return "pad_to"
    if options.exif_orientation:
        return "exif_orientation"
    for transforms in options.views or [options.transforms]:
        if name := _first_move(transforms):
            return name
    return ""


def _first_move(transforms: Sequence[Any]) -> str:
    if not isinstance(transforms, Iterable):
        return ""  # other code refuses these transforms with a better message
    for transform in transforms:
        name = type(transform).__name__
        if name in _LISTS:
            name = _first_move(transform.transforms)
        if name and name not in _IN_PLACE:
            return name
    return ""
