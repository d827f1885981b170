"""Feeds the loop copies of a few batches, so that loading costs almost no time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .batch_copy import copy_batch

MOST = 4
MOST_DEPTH = 8  # of a batch's description


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


def batch_structure(batch: Any, depth: int = 0) -> Any:
    """Returns a comparable description of a batch without values and tensor sizes."""
    if depth > MOST_DEPTH:  # a batch may contain itself
        return type(batch)
    torch = sys.modules["torch"]
    if isinstance(batch, torch.Tensor):
        return batch.dtype, batch.dim()
    if isinstance(batch, dict):
        return type(batch), [
            (key, batch_structure(value, depth + 1)) for key, value in batch.items()
        ]
    if isinstance(batch, list | tuple):
        return type(batch), [batch_structure(item, depth + 1) for item in batch]
    return type(batch)
