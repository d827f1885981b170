"""Batches of worker threads and of torch's worker processes, compared."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .proof import untouched_random_numbers


def prove_threads(theirs: Any, threads: Iterable[Any], batches: int) -> tuple[bool, str]:
    """Whether the first batches of both are equal, and what was found. Samplers are asked for two more epochs."""
    with _untouched_generators(theirs):
        expected = list(itertools.islice(theirs, batches))
    theirs._iterator = None  # persistent processes end
    with _untouched_generators(theirs):
        made = list(itertools.islice(threads, batches))
    for number, (one, other) in enumerate(itertools.zip_longest(made, expected)):
        if not is_equal(one, other):
            return False, f"batch {number} of threads differs from that of processes"
    return True, f"{len(made)} batches of threads are equal to those of processes"


@contextlib.contextmanager
def _untouched_generators(theirs: Any) -> Iterator[None]:
    found = [theirs.generator, getattr(theirs.sampler, "generator", None)]
    found.append(getattr(theirs.batch_sampler, "generator", None))
    states = [(one, one.get_state()) for one in found if one is not None]
    try:
        with untouched_random_numbers():
            yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def is_equal(one: Any, other: Any) -> bool:
    """Two batches: structure, types and values; a NaN is equal to a NaN."""
    import numpy as np
    import torch

    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return bool(((one == other) | ((one != one) & (other != other))).all())
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, one.dtype.kind in "fc")
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(is_equal(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and not isinstance(one, str | bytes):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other)
