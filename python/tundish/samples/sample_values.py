"""Kinds of sample values. Never imports torch or Pillow, whose objects exist only if they are already imported."""

from __future__ import annotations

import io
import sys
from typing import Any, NamedTuple

import numpy as np

_ELEMENTS = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]
ELEMENT_NUMBER = {name: number for number, name in enumerate(_ELEMENTS)}  # base/array_type.h

_IMAGE_STARTS = (
    b"\xff\xd8\xff",
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"BM",
    b"II*\0",
    b"MM\0*",
)


class Array(NamedTuple):
    """Array elements in C order, little-endian. bfloat16, which NumPy lacks, is stored as uint16."""

    element: str
    data: Any


def is_pil(value: object) -> bool:
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(value, pil.Image)


def is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_bytes(value: object) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


def is_file(value: object) -> bool:
    """Returns whether this is a file that `datasets` has not decoded: a dict with its bytes or its path."""
    return isinstance(value, dict) and value.keys() == {"bytes", "path"}


def is_array(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic) or is_tensor(value)


def file_bytes(value: dict[str, Any]) -> bytes:
    if value["bytes"] is not None:
        return bytes(value["bytes"])
    with open(value["path"], "rb") as file:
        return file.read()


def looks_like_image(data: bytes | bytearray | memoryview) -> bool:
    first = bytes(memoryview(data)[:12])
    return first.startswith(_IMAGE_STARTS) or (first[:4] == b"RIFF" and first[8:] == b"WEBP")


def type_text(value: object) -> str:
    """Describes a value for messages: "str", "uint8 (32, 32, 3)"."""
    if has_masked_elements(value):
        return "an array with masked elements (value.filled(0) makes a plain one)"
    if is_array(value):
        array: Any = value
        element = str(array.dtype).removeprefix("torch.")
        return f"{element} {tuple(array.shape)} of {type(value).__name__}"
    if is_pil(value):
        image: Any = value
        return f"a Pillow image of mode {image.mode}"
    return "None" if value is None else type(value).__name__


def has_masked_elements(value: object) -> bool:
    """Returns whether a `numpy.ma` array, or a list that contains one, has masked elements."""
    if isinstance(value, list | tuple):
        kinds = (list, tuple, np.ma.MaskedArray)
        return any(has_masked_elements(each) for each in value if isinstance(each, kinds))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.getmaskarray(value).any())


def is_loaded(image: Any) -> bool:
    """Returns whether Pillow has loaded the pixels of an image. It loads them on first use."""
    return vars(image).get("_im", vars(image).get("im", image)) is not None  # older Pillow: "im"


def _numpy_of(tensor: Any) -> Any:
    """Returns the elements of a tensor as an array, or None for a layout that NumPy lacks."""
    try:
        return tensor.resolve_conj().resolve_neg().numpy()
    except (RuntimeError, TypeError):  # sparse, nested or quantized tensors, float8
        return None


def to_array(value: Any) -> Array | None:
    """Converts arrays, tensors, numbers and lists of numbers to an Array. Returns None for other values."""
    element = ""
    if has_masked_elements(value):
        return None
    if is_tensor(value):
        torch = sys.modules["torch"]
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            value, element = (
                value.contiguous().view(torch.int16).numpy().view(np.uint16),
                "bfloat16",
            )
        else:
            value = _numpy_of(value)
            if value is None:
                return None
    try:
        data = np.asarray(value)
    except (TypeError, ValueError, OverflowError):  # lists of different lengths
        return None
    if data.dtype.newbyteorder("=").name not in ELEMENT_NUMBER:
        return None
    data = np.ascontiguousarray(data, data.dtype.newbyteorder("<")).reshape(data.shape)
    return Array(element or data.dtype.name, data)


def npy_bytes(data: Any) -> bytes:
    """Returns the array as the bytes of a .npy file."""
    out = io.BytesIO()
    np.lib.format.write_array(out, data, version=(1, 0))
    return out.getvalue()
