"""Finds the fields of a dataset by examining some of its samples. The first sample decides their types."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from .._c.errors import ArgumentError
from .images import image_axes
from .layout import Layout, shape_of, values_of
from .sample_fields import (
    ARRAY,
    BYTES,
    IMAGE,
    LABEL,
    NUMBER,
    TEXT,
    Field,
    array_of,
    float_of,
    integer_of,
)
from .sample_values import is_array, is_bytes, is_file, is_pil, looks_like_image, type_text

# Same order as in src/data/source/field_names.cpp: the most specific names come first.
_IMAGE_NAMES = [
    "image",
    "images",
    "image/encoded",
    "img",
    "imgs",
    "jpg",
    "jpeg",
    "png",
    "webp",
    "pixels",
    "image_raw",
    "encoded",
    "x",
    "features",
    "input",
    "inputs",
    "data",
]
_LABEL_NAMES = [
    "label",
    "labels",
    "image/class/label",
    "y",
    "target",
    "targets",
    "class",
    "cls",
    "fine_labels",
]


def describe(
    samples: Sequence[Any],
    *,
    image: str = "",
    label: str = "",
    classes: Sequence[str] = (),
    same_shape: bool | None = None,
) -> tuple[Layout, list[str]]:
    """Returns the layout of all samples, and the class names if the samples have labels.

    same_shape  for arrays other than images: True: all have the shape of the first; False: shapes may differ;
                None: True if the given samples have the same shape
    """
    shape = shape_of(samples[0])
    names = shape if isinstance(shape, list) else None
    values = _first_values(samples, names)
    if not values:
        raise ArgumentError(f"a sample has no values: {samples[0]!r}")
    the_image = _image_of(values, names, image)
    the_label = _label_of(values, names, label, bool(classes))
    fields = []
    for i, value in enumerate(values):
        name = names[i] if names else f"field{i}" if shape is not None else "value"
        if i == the_image:
            axes = image_axes(value) if is_array(value) else ""
            fields.append(Field(name if names else "image", IMAGE, axes=axes))
        elif i == the_label and integer_of(value) is not None:
            fields.append(Field(name if names else "label", LABEL))
        elif i == the_label and _vector_length(value) == len(classes):
            fields.append(Field("label", ARRAY, element="float32", label_vector=len(classes)))
        else:
            fields.append(_other(name, value))
    layout = Layout(tuple(fields), tuple(names) if names else None, shape is None)
    if layout.single and fields[0].type == TEXT:
        _refuse_paths(samples)
    layout = _with_shapes(layout, samples, same_shape)
    _check(layout)
    if the_image < 0:
        _warn_of_float_pictures(fields, values)
    has_labels = any(field.type == LABEL or field.label_vector for field in fields)
    if the_image >= 0 and not has_labels:
        _warn_of_no_label(fields, values)
    return layout, list(classes) if has_labels else []


def _refuse_paths(samples: Sequence[Any]) -> None:
    """Refuses a list of paths, because only the paths themselves would be packed, as texts."""
    if all(isinstance(sample, str) and os.path.exists(sample) for sample in samples):
        raise ArgumentError(
            f"the samples are paths, such as {samples[0]!r}, and only their texts would be packed\n"
            "  fix: pass one path; `tundish merge` joins packs, and a .csv list names files (docs/sources.md)"
        )


def _first_values(samples: Sequence[Any], names: list[str] | None) -> list[Any]:
    """Returns the values of the first sample. Replaces None, which means unknown, by the value of a later sample."""
    values = values_of(samples[0])
    for sample in samples[1:]:
        if all(value is not None for value in values):
            break
        others = _values_like(sample, names, len(values))
        values = [
            other if value is None else value for value, other in zip(values, others, strict=True)
        ]
    return values


def _values_like(sample: Any, names: list[str] | None, count: int) -> list[Any]:
    """Returns the values of a sample by name, or by position without names. A missing value is None."""
    found, values = shape_of(sample), values_of(sample)
    if names is None:
        return values if len(values) == count else [None] * count
    by_name = dict(zip(found, values, strict=True)) if isinstance(found, list) else {}
    return [by_name.get(name) for name in names]


def _warn_of_no_label(fields: Sequence[Field], values: Sequence[Any]) -> None:
    """Warns if the samples have no label but a value that may be intended as the label."""
    for field, value in zip(fields, values, strict=True):
        array = array_of(value) if field.type == ARRAY else None
        is_whole = array is not None and array.data.size == 1 and array.data.dtype.kind in "biu"
        if is_whole or (field.type != IMAGE and field.name.lower() in _LABEL_NAMES):
            fix = (
                "A label is an int (int(value) for bool and for arrays of one element, classes.index(value) for a name)"
                if integer_of(value) is None
                else f"If it is the label, give label='{field.name}'"
            )
            warnings.warn(
                f"the samples have no label: '{field.name}' is {type_text(value)}. {fix}",
                stacklevel=6,
            )
            return


def _warn_of_float_pictures(fields: Sequence[Field], values: Sequence[Any]) -> None:
    for field, value in zip(fields, values, strict=True):
        if field.type != ARRAY or not is_array(value) or len(value.shape) != 3:
            continue
        sides = tuple(value.shape)
        pixels = sides[1:] if sides[0] in (1, 3, 4) else sides[:2] if sides[2] in (1, 3, 4) else ()
        if "float" in str(value.dtype) and pixels and min(pixels) >= 8:
            warnings.warn(
                f"'{field.name}' is packed as a plain array ({type_text(value)}), not as an image: it is neither "
                "resized nor augmented. Images are uint8: leave ToTensor() and Normalize() out of the dataset",
                stacklevel=5,
            )


def _check(layout: Layout) -> None:
    names = [field.name for field in layout.fields]
    if len(names) > 64:
        raise ArgumentError(f"a sample has {len(names)} fields, at most 64 are allowed")
    if len(set(names)) < len(names) or "" in names:
        raise ArgumentError(f"every field needs a unique name: {', '.join(names)}")
    if all(field.type == LABEL for field in layout.fields):
        raise ArgumentError("a sample needs a field beside its label")


def _may_be_image(value: Any) -> bool:
    if is_bytes(value):
        return looks_like_image(value)
    return is_pil(value) or is_file(value) or (is_array(value) and image_axes(value) != "")


def _named(requested: str, role: str, names: list[str] | None, values: list[Any]) -> int:
    known = names or [f"field{i}" for i in range(len(values))]
    if requested not in known:
        raise _unclear(f"there is no field '{requested}' to use as the {role}", known)
    return known.index(requested)


def _image_of(values: list[Any], names: list[str] | None, requested: str) -> int:
    """Returns the index of the image, or -1 if there is none."""
    if requested:
        found = _named(requested, "image", names, values)
        if _may_be_image(values[found]) or is_bytes(values[found]):
            return found
        raise _unclear(f"'{requested}' cannot be an image: {type_text(values[found])}", names or [])
    fit = [i for i, value in enumerate(values) if _may_be_image(value)]
    if names is None or len(fit) < 2:
        return fit[0] if fit else -1
    found = _usual(fit, names, _IMAGE_NAMES)
    if found < 0:
        raise _unclear("several fields could be the image", [names[i] for i in fit])
    return found


def _label_of(values: list[Any], names: list[str] | None, requested: str, classes: bool) -> int:
    """Returns the index of the label, or -1 if there is none. A vector can be a label only if classes are known."""
    fit = [
        i
        for i, value in enumerate(values)
        if integer_of(value) is not None or (classes and _vector_length(value))
    ]
    if requested:
        found = _named(requested, "label", names, values)
        if found in fit:
            return found
        raise _unclear(f"'{requested}' cannot be a label: {type_text(values[found])}", names or [])
    if names is not None:
        return _usual(fit, names, _LABEL_NAMES)
    whole = [i for i in fit if integer_of(values[i]) is not None]
    return -1 if len(values) == 1 else (whole or fit or [-1])[0]


def _usual(fit: list[int], names: list[str], usual: list[str]) -> int:
    """Returns the index of the name that comes first in `usual`, or -1.

    Compares full names first, then the parts after the last slash, as the engine does.
    """
    whole = [names[i].lower() for i in fit]
    for found in (whole, [name.rpartition("/")[2] for name in whole]):
        for word in usual:
            if word in found:
                return fit[found.index(word)]
    return -1


def _vector_length(value: Any) -> int:
    array = None if integer_of(value) is not None or is_file(value) else array_of(value)
    return len(array.data) if array is not None and array.data.ndim == 1 else 0


def _other(name: str, value: Any) -> Field:
    """Returns the field of a value that is neither the image nor the label."""
    if isinstance(value, str):
        return Field(name, TEXT)
    if is_bytes(value) or is_file(value):
        return Field(name, BYTES)
    if float_of(value) is not None and not is_array(value):
        return Field(name, NUMBER)
    array = array_of(value)
    if array is None:
        raise ArgumentError(
            f"field '{name}' is {type_text(value)}, which a pack cannot hold: a field must be an image, "
            "a number, str, bytes, an array, a tensor or a list of numbers of equal length\n"
            "  fix: leave it out, or convert it to one of these (json.dumps for lists of dicts)"
        )
    return Field(name, ARRAY, element=array.element, shape=tuple(array.data.shape))


def _with_shapes(layout: Layout, samples: Sequence[Any], same_shape: bool | None) -> Layout:
    """Removes the shape of an array field if shapes differ between samples, or if the user says that they do."""
    fields = list(layout.fields)
    for i, field in enumerate(fields):
        if field.type == ARRAY and field.shape and 0 in field.shape:
            # An array without elements has no bytes, which would mean a missing value. Without a fixed shape, it is
            # stored as a .npy file, which has a header.
            fields[i] = Field(field.name, ARRAY, element=field.element)
        if field.type != ARRAY or same_shape or not field.shape:
            continue
        shapes = {_shape_in(sample, layout, i) for sample in samples} - {None}
        if same_shape is False or len(shapes) > 1:
            fields[i] = Field(field.name, ARRAY, element=field.element)
    return Layout(tuple(fields), layout.names, layout.single)


def _shape_in(sample: Any, layout: Layout, i: int) -> tuple[int, ...] | None:
    names = None if layout.names is None else list(layout.names)
    values = [sample] if layout.single else _values_like(sample, names, len(layout.fields))
    array = array_of(values[i])
    return None if array is None else tuple(array.data.shape)


def _unclear(reason: str, names: Sequence[str]) -> ArgumentError:
    found = ", ".join(names) if names else "none"
    error = ArgumentError(
        f"TND-318 {reason}; there are: {found}\n  fix: tundish.pack(..., image=..., label=...)"
    )
    error.code = "TND-318"
    return error
