"""Batches of worker threads and of torch's worker processes, compared."""

from __future__ import annotations

import contextlib
import dataclasses
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
        try:
            equal = is_equal(one, other)
        except Exception:
            return False, f"batches of type {type(one).__qualname__} cannot be compared"
        if not equal:
            return False, f"batch {number} of threads differs from that of processes"
    return True, f"{len(made)} batches of threads are equal to those of processes"


@contextlib.contextmanager
def _untouched_generators(theirs: Any) -> Iterator[None]:
    states = [(one, one.get_state()) for one in _generators(theirs)]
    try:
        with untouched_random_numbers():
            yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def _generators(theirs: Any) -> list[Any]:
    """Of the loader and of its samplers, also of those inside others."""
    found = {id(theirs.generator): theirs.generator}
    samplers, seen = [theirs.sampler, theirs.batch_sampler], set()
    while samplers:
        sampler = samplers.pop()
        if sampler is None or id(sampler) in seen:
            continue
        seen.add(id(sampler))
        generator = getattr(sampler, "generator", None)
        found[id(generator)] = generator
        samplers.append(getattr(sampler, "sampler", None))
    return [one for one in found.values() if hasattr(one, "get_state")]


def is_equal(one: Any, other: Any) -> bool:
    """Two batches: structure, types and values; a NaN is equal to a NaN."""
    import numpy as np
    import torch

    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return _equal_tensors(one, other)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, one.dtype.kind in "fc")
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(is_equal(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and not isinstance(one, str | bytes):
        return len(one) == len(other) and all(map(is_equal, one, other))
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(is_equal(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, float | complex | np.inexact) and one != one:
        return bool(other != other)
    return bool(one == other)


def _equal_tensors(one: Any, other: Any) -> bool:
    import torch

    if (one.dtype, one.shape, one.layout) != (other.dtype, other.shape, other.layout):
        return False
    if one.layout != torch.strided:  # sparse, of any kind
        one, other = one.to_dense(), other.to_dense()
    return bool(((one == other) | ((one != one) & (other != other))).all())
