"""Batches of any structure: tensors in tuples, lists, mappings and dataclasses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import torch

_PLAIN = (str, bytes, int, float, complex, type(None), torch.dtype, torch.device)


def map_tensors(change: Callable[[torch.Tensor], Any], batch: Any) -> Any:
    """Returns a copy of the batch with `change` applied to every tensor. Other values are kept."""
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if type(batch) is dict:
        return {key: map_tensors(change, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_tensors(change, value) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(map_tensors(change, value) for value in batch)
    parts = parts_of(batch)
    if parts is None:
        return batch
    out = copy.copy(batch)  # keeps the class and all attributes
    for name, value in parts.items():
        if isinstance(batch, MutableMapping):
            out[name] = map_tensors(change, value)
        else:
            object.__setattr__(out, name, map_tensors(change, value))  # even if it is frozen
    return out


def parts_of(batch: Any) -> Mapping[Any, Any] | None:
    """Returns the values of a mapping or a dataclass by name; None for other objects."""
    if isinstance(batch, MutableMapping):
        return batch
    if is_dataclass(batch) and not isinstance(batch, type):
        return {field.name: getattr(batch, field.name) for field in fields(batch)}
    return None


def tensors_of(batch: Any) -> Iterator[torch.Tensor]:
    """Yields every tensor of a batch, in order."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, (tuple, list)):
        for value in batch:
            yield from tensors_of(value)
    elif (parts := parts_of(batch)) is not None:
        for value in parts.values():
            yield from tensors_of(value)


def signature(batch: Any) -> Any:
    """Returns a hashable key made of structure, shapes, dtypes, devices and non-tensor values.

    Two batches with equal signatures can run through the same CUDA graph or compiled step.
    """
    if isinstance(batch, torch.Tensor):
        return (tuple(batch.shape), batch.dtype, batch.device)
    if isinstance(batch, (tuple, list)):
        return (type(batch), *(signature(value) for value in batch))
    if (parts := parts_of(batch)) is not None:
        return (type(batch), *((key, signature(value)) for key, value in parts.items()))
    if isinstance(batch, _PLAIN):
        return (type(batch), batch)  # includes the type, because 1 == True
    if all(hasattr(batch, name) for name in ("tobytes", "shape", "dtype")):  # a NumPy array
        return (type(batch), tuple(batch.shape), str(batch.dtype), batch.tobytes())
    return _Identity(batch)


def only_values_differ(one: Any, other: Any) -> bool:
    """Returns whether two different signatures differ in non-tensor values only."""
    return list(_tensors_in(one)) == list(_tensors_in(other))


def _tensors_in(key: Any) -> Iterator[Any]:
    if isinstance(key, tuple):
        if len(key) == 3 and isinstance(key[2], torch.device) and isinstance(key[1], torch.dtype):
            yield key
        else:
            for part in key:
                yield from _tensors_in(part)


class _Identity:
    """Wraps an object that equals only itself. Holds a reference, so that its id is not reused."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


def samples_of(batch: Any) -> int:
    """Returns the batch size: the length of the first tensor that is not a scalar; 0 if there is none."""
    for tensor in tensors_of(batch):
        if tensor.dim() > 0:
            return int(tensor.shape[0])
    return 0


def slice_samples(batch: Any, begin: int, end: int) -> Any:
    """Returns samples `begin` to `end` of a batch.

    Tensors of another length apply to all samples and are not sliced.
    """
    count = samples_of(batch)
    return map_tensors(
        lambda tensor: (
            tensor[begin:end] if tensor.dim() > 0 and tensor.shape[0] == count else tensor
        ),
        batch,
    )


def split_samples(batch: Any, parts: int) -> list[tuple[Any, float]]:
    """Splits a batch into `parts` nearly equal pieces. Returns (piece, fraction of the samples) pairs."""
    count = samples_of(batch)
    if count == 0:
        return [(batch, 1.0)]
    parts = max(1, min(parts, count))
    bounds = [count * i // parts for i in range(parts + 1)]
    return [
        (slice_samples(batch, begin, end), (end - begin) / count) for begin, end in pairwise(bounds)
    ]


def nudged(batch: Any, seed: int) -> Any:
    """Returns a copy with every floating-point number changed by a random rounding error.

    Each number moves up or down by half a unit in the last place.
    """
    generator = torch.Generator("cpu").manual_seed(seed)

    def nudge(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        chances = torch.rand(tensor.shape, generator=generator, dtype=torch.float32, device="cpu")
        up = chances.to(tensor.device) < 0.5
        half = torch.finfo(tensor.dtype).eps / 2
        return torch.where(up, tensor * (1 + half), tensor * (1 - half))

    return map_tensors(nudge, batch)
