"""Feeds the loop copies of a few batches, so that loading costs almost no time."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

MOST = 4


class CachedBatches:
    """A few batches of one loader. The loop gets copies, because it may modify batches in place."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._batches: list[Any] = []
        self._is_uncopyable = False  # the loader's batches cannot be copied
        self.loader: Callable[[], Any] = lambda: None  # weak reference to the loader of the batches
        self._next = 0

    def __len__(self) -> int:
        return len(self._batches)

    def keep(self, batch: Any, loader: Callable[[], Any]) -> None:
        """Keeps the first few batches. A batch of another loader replaces all kept batches."""
        if self.loader() is not loader():
            self.clear()
            self.loader = loader
        if len(self._batches) >= self._most or self._is_uncopyable:
            return
        try:
            self._batches.append(copy_batch(batch))
        except Exception:  # the script's own class cannot be copied; no step uses cached batches
            self._is_uncopyable = True
            self.clear()

    def assign_to(self, loader: Callable[[], Any], structure: Any) -> None:
        """Assigns the batches to another loader if its batches have the same structure."""
        if self._batches and structure == batch_structure(self._batches[0]):
            self.loader = loader

    def batches(self) -> list[Any]:
        return list(self._batches)

    def next_copy(self) -> Any:
        batch = self._batches[self._next % len(self._batches)]
        self._next += 1
        return copy_batch(batch)

    def clear(self) -> None:
        self._batches.clear()


def batch_structure(batch: Any) -> Any:
    """Returns a description of a batch's structure, for comparison. Ignores values and tensor sizes."""
    torch = sys.modules["torch"]
    if isinstance(batch, torch.Tensor):
        return batch.dtype, batch.dim()
    if isinstance(batch, dict):
        return type(batch), [(key, batch_structure(value)) for key, value in batch.items()]
    if isinstance(batch, list | tuple):
        return type(batch), [batch_structure(item) for item in batch]
    return type(batch)


def copy_batch(batch: Any) -> Any:
    """Copies the tensors and containers of a batch. Pinned memory stays pinned. Shares other objects."""
    torch = sys.modules["torch"]
    if isinstance(batch, torch.Tensor):
        if batch.device.type == "cpu" and torch.cuda.is_initialized() and batch.is_pinned():
            return torch.empty_like(batch, pin_memory=True).copy_(batch)
        return batch.clone()
    if isinstance(batch, dict):
        done = copy.copy(batch)
        for key, value in batch.items():
            done[key] = copy_batch(value)
        return done
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        kind: Any = type(batch)  # the constructor may expect other arguments
        return kind._make(copy_batch(item) for item in batch)
    if type(batch) in (list, tuple):
        return type(batch)(copy_batch(item) for item in batch)
    if hasattr(batch, "clone"):  # graph batches and other custom batches
        return batch.clone()
    return batch
