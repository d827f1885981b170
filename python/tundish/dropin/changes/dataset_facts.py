"""Facts that determine the samples of a dataset, in a form that can be compared."""

from __future__ import annotations

import copy
import zlib
from typing import Any


class Identity:
    """Wraps an object for comparison by identity. Keeps it alive, so that its id is not reused."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._held is other._held

    __hash__ = None  # type: ignore[assignment]


def contents(values: Any) -> Any:
    """Returns a copy of a list, array or tensor, so that `is_equal` detects a changed element."""
    if hasattr(values, "clone"):
        return values.clone()
    if isinstance(values, list) and list in set(map(type, values)):
        return [tuple(value) if isinstance(value, list) else value for value in values]
    if hasattr(values, "copy"):
        return values.copy()
    try:
        return copy.copy(values)
    except TypeError:  # the object cannot be copied, such as an open file
        return values


def checksum(pixels: Any) -> Any:
    """Returns shape, type and CRC-32 of a large array or tensor. A copy would double the memory."""
    import numpy as np

    array = np.ascontiguousarray(np.asarray(pixels))
    return array.shape, str(array.dtype), zlib.crc32(array.reshape(-1).view(np.uint8).data)


def is_equal(fact: Any, other: Any) -> bool:
    """Returns whether two facts have equal values, shapes and types."""
    if type(fact) is not type(other):
        return False
    if hasattr(fact, "shape"):
        if fact.shape != other.shape or fact.dtype != other.dtype:
            return False
        return bool((fact == other).all())
    return bool(fact == other)
