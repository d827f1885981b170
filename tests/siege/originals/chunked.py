"""Random layouts that HDF5, Zarr and N5 share: chunks, partial writes, axes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.siege.originals.case import Case
from tests.siege.originals.values import columns


def chunk_shape(
    draw: random.Random, shape: tuple[int, ...], inside: bool = False
) -> tuple[int, ...]:
    """Returns a chunk shape, sometimes larger than the array unless `inside` is set."""
    return tuple(draw.randint(1, max(1, one) + (0 if inside else 2)) for one in shape)


def written_part(draw: random.Random, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Returns the written part of an array; the rest has the fill value."""
    if draw.random() < 0.6:
        return tuple(slice(0, one) for one in shape)
    starts = [draw.randrange(one + 1) for one in shape]
    return tuple(slice(start, draw.randint(start, one)) for start, one in zip(starts, shape))


def fill_value(draw: random.Random, dtype: np.dtype) -> Any:
    """Returns a fill value of a type."""
    if dtype.kind == "b":
        return draw.random() < 0.5
    if dtype.kind == "f":
        special = (0.0, -0.0, 1.5, -0.1, float("nan"), float("inf"), float("-inf"), 6e-5)
        return dtype.type(draw.choice(special)).item()
    bounds = np.iinfo(dtype)
    return draw.choice((0, 1, 7, int(bounds.min), int(bounds.max)))


def refuse_labels(case: Case, arrays: dict[str, np.ndarray]) -> None:
    """Expects a refusal where a label is below -1 or does not fit into int64."""
    labels = [int(label) for label in arrays.get("label", np.array([])).reshape(-1)]
    if any(label < -1 for label in labels):
        case.refusals.append((r"TND-313.* is no label", "label below -1"))
    if any(label >= 2**63 for label in labels):
        case.refusals.append((r"TND-313.*the label is over 2\^63 - 1", "label over 2^63 - 1"))


def arrays_along_axis(
    draw: random.Random, types: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], int]:
    """Returns arrays and the axis of their samples, which is 0 for one-dimensional arrays."""
    arrays = columns(draw, types)
    least = min((one.ndim for one in arrays.values() if one.ndim > 1), default=1)
    return arrays, draw.choice((draw.randrange(least), -1)) if draw.random() < 0.25 else 0


def moved(array: np.ndarray, axis: int) -> np.ndarray:
    return np.moveaxis(array, 0, axis) if array.ndim > 1 else array


def moved_back(array: np.ndarray, axis: int) -> np.ndarray:
    return np.moveaxis(array, axis, 0) if array.ndim > 1 else array
