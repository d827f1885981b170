"""The fields of a dataset, and the encoding of their values to bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from .images import WrongValue, image_bytes
from .sample_values import (
    Array,
    file_bytes,
    has_masked_elements,
    is_array,
    is_bytes,
    is_file,
    is_pil,
    npy_bytes,
    to_array,
    type_text,
)

# Values of FieldType in src/data/source/source.h.
IMAGE, LABEL, TEXT, BYTES, NUMBER, ARRAY = range(6)
MAX_FIELD_BYTES = 256 << 20  # Limits::max_bytes
MAX_SAMPLE_BYTES = (1 << 30) - 4096  # limit in src/data/source/formats/python/message.h


@dataclass(frozen=True)
class Field:
    name: str
    type: int
    axes: str = ""  # layout of an image whose first value is an array: "HWC", "CHW", "HW"
    element: str = ""  # element type of an array
    shape: tuple[int, ...] | None = None  # shape of all arrays; None if shapes differ
    label_vector: int = (
        0  # number of classes if the field is a label: a float32 vector; otherwise 0
    )

    def text(self) -> str:
        if self.type == ARRAY and self.label_vector:
            return f"a vector of {self.label_vector} numbers"
        if self.type == ARRAY:
            return f"{self.element} {self.shape if self.shape is not None else 'array'}"
        return ("an image", "an integer", "str", "bytes", "a number")[self.type]


def encode_value(field: Field, value: Any) -> bytes:
    """Encodes a value. Raises WrongValue if the value is not of the field's type."""
    data = _ENCODERS[field.type](field, value)
    if len(data) > MAX_FIELD_BYTES:
        raise WrongValue(f"{len(data):,} bytes, at most {MAX_FIELD_BYTES:,} are allowed")
    return data


def integer_of(value: Any) -> int | None:
    """Returns the value as an int if it is a whole number, otherwise None. A bool does not count as a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if has_masked_elements(value):
        return None
    if is_array(value) and value.ndim == 0 and "int" in str(value.dtype):
        return int(value)
    return None


def float_of(value: Any) -> float | None:
    if isinstance(value, float):
        return value
    if has_masked_elements(value):
        return None
    if is_array(value) and value.ndim == 0 and "float" in str(value.dtype):
        return float(value)
    return None


def _wrong(field: Field, value: Any) -> WrongValue:
    return WrongValue(f"expected {field.text()}, got {type_text(value)}")


def _label(field: Field, value: Any) -> bytes:
    number = -1 if value is None else integer_of(value)
    if number is None or not -(2**63) <= number < 2**63:
        raise _wrong(field, value)
    return struct.pack("<q", number)


def _text(field: Field, value: Any) -> bytes:
    if not isinstance(value, str):
        raise _wrong(field, value)
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise WrongValue(f"expected {field.text()}, came one that is no text: {error}") from None


def _bytes(field: Field, value: Any) -> bytes:
    if is_file(value):
        return file_bytes(value)
    if not is_bytes(value):
        raise _wrong(field, value)
    return bytes(value)


def _number(field: Field, value: Any) -> bytes:
    whole = integer_of(value)
    number = float_of(value) if whole is None else float(whole)
    if number is None or (whole is not None and int(number) != whole):
        raise _wrong(field, value)
    return struct.pack("<d", number)


def array_of(value: Any) -> Array | None:
    """Converts a value to an array. For a Pillow image, returns its pixels: in mode P, the palette indices."""
    if is_bytes(value) or isinstance(value, str) or value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return Array("int64", np.asarray(value, "<i8")) if -(2**63) <= value < 2**63 else None
    return to_array(np.asarray(value) if is_pil(value) else value)


def _array(field: Field, value: Any) -> bytes:
    array = array_of(value)
    if array is None:
        raise _wrong(field, value)
    if field.label_vector:
        if array.data.shape != (field.label_vector,) or array.element == "bfloat16":
            raise _wrong(field, value)
        vector = array.data.astype("<f4")
        if not np.isfinite(vector).all():
            raise WrongValue("a label vector has a number that is not finite")
        return npy_bytes(vector)
    expected = field.shape if field.shape is not None else array.data.shape
    if (array.element, tuple(array.data.shape)) != (field.element, tuple(expected)):
        raise _wrong(field, value)
    return bytes(array.data.tobytes() if field.shape is not None else npy_bytes(array.data))


def _image(field: Field, value: Any) -> bytes:
    return image_bytes(value, field.axes)


_ENCODERS = (_image, _label, _text, _bytes, _number, _array)
