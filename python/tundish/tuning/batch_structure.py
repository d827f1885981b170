"""Batches of any structure: tensors in tuples, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch


def map_tensors(change: Callable[[torch.Tensor], Any], batch: Any) -> Any:
    """Returns a copy of the batch with `change` applied to every tensor. Other values are kept."""
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, dict):
        return {key: map_tensors(change, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_tensors(change, value) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(map_tensors(change, value) for value in batch)
    return batch


def tensors_of(batch: Any) -> Iterator[torch.Tensor]:
    """Yields every tensor of a batch, in order."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, dict):
        for value in batch.values():
            yield from tensors_of(value)
    elif isinstance(batch, (tuple, list)):
        for value in batch:
            yield from tensors_of(value)


def signature(batch: Any) -> Any:
    """Returns a key of structure, shapes, types and devices.

    Two batches with equal signatures can run through the same captured or compiled step.
    """
    if isinstance(batch, torch.Tensor):
        return (tuple(batch.shape), batch.dtype, batch.device)
    if isinstance(batch, dict):
        return tuple((key, signature(value)) for key, value in batch.items())
    if isinstance(batch, (tuple, list)):
        return (type(batch), *(signature(value) for value in batch))
    return batch


def samples_of(batch: Any) -> int:
    """Returns the length of the first tensor with a dimension, or 0 if there is none."""
    for tensor in tensors_of(batch):
        if tensor.dim() > 0:
            return int(tensor.shape[0])
    return 0


def slice_samples(batch: Any, begin: int, end: int) -> Any:
    """Returns samples `begin` to `end` of a batch.

    Tensors of another length belong to all samples and are not sliced.
    """
    count = samples_of(batch)
    return map_tensors(
        lambda tensor: (
            tensor[begin:end] if tensor.dim() > 0 and tensor.shape[0] == count else tensor
        ),
        batch,
    )


def split_samples(batch: Any, parts: int) -> list[tuple[Any, float]]:
    """Splits a batch into `parts` nearly equal pieces, each with its fraction of the samples."""
    count = samples_of(batch)
    if count == 0:
        return [(batch, 1.0)]
    parts = max(1, min(parts, count))
    bounds = [count * i // parts for i in range(parts + 1)]
    return [
        (slice_samples(batch, begin, end), (end - begin) / count) for begin, end in pairwise(bounds)
    ]
