"""Converts the fields of a batch, other than image and label, from bytes to Python values."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Callable
from typing import Any

from ..._c.functions import OK
from ..._c.handles import BatchHandle
from ..._c.library import lib


def read_field(batch: BatchHandle, count: int, field: int) -> list[bytes]:
    """Returns the bytes of one field, one entry per sample."""
    return [_bytes_of(batch, place, field) for place in range(count)]


def _bytes_of(batch: BatchHandle, place: int, field: int) -> bytes:
    data, size = ctypes.c_void_p(), ctypes.c_uint64()
    if lib.tundish_batch_field(batch, place, field, ctypes.byref(data), ctypes.byref(size)) != OK:
        return b""
    return ctypes.string_at(data, size.value) if size.value else b""


def stack_arrays(
    raw: list[bytes], dtype: str, shape: tuple[int, ...], from_numpy: Callable[[Any], Any]
) -> Any:
    """Stacks arrays of the same shape into one array. Returns a list if some sample has no array."""
    import numpy as np

    plain = "uint16" if dtype == "bfloat16" else dtype  # NumPy has no bfloat16
    if all(raw):
        out = from_numpy(np.frombuffer(b"".join(raw), plain).reshape(len(raw), *shape).copy())
        if plain == dtype or isinstance(out, np.ndarray):
            return out
        import torch

        return out.view(torch.bfloat16)
    return [np.frombuffer(item, plain).reshape(shape).copy() if item else None for item in raw]


def decode_field(kind: str, raw: list[bytes], from_numpy: Callable[[Any], Any]) -> Any:
    import numpy as np

    if kind == "text":
        return [value.decode("utf-8", "replace") for value in raw]
    if kind == "number":
        values = [np.frombuffer(v, "<f8")[0] if len(v) == 8 else np.nan for v in raw]
        return from_numpy(np.array(values, np.float64))
    if kind == "array":  # the engine has already checked header and length
        return [np.load(io.BytesIO(v), allow_pickle=False) if v else None for v in raw]
    return raw
