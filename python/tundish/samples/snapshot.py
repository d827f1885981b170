"""Copies of samples that an iterator may overwrite or close before they are encoded."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from .images import unchanged_file
from .sample_values import is_loaded, is_pil, is_tensor


def snapshot(value: Any) -> Any:
    """Copies values that the next sample may overwrite: containers, arrays, tensors, buffers, open files."""
    if isinstance(value, Mapping):
        return {name: snapshot(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        copies = [snapshot(each) for each in value]
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(copies)
        return tuple(copies) if isinstance(value, tuple) else copies
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, np.ndarray):
        return value.copy()
    if is_tensor(value):
        return value.detach().clone()
    return _image_snapshot(value) if is_pil(value) else value


def _image_snapshot(image: Any) -> Any:
    """Copies the pixels, or the file if Pillow has not read the pixels yet.

    The file may be closed later: `with Image.open(path) as image: yield image` closes it before the next sample.
    """
    from PIL import Image

    if not is_loaded(image) and (data := unchanged_file(image)) is not None:
        return Image.open(io.BytesIO(data))
    with contextlib.suppress(Exception):  # if the file is damaged, the encoding refuses it
        return image.copy()
    return image
