"""Copies of a few batches, handed out again: a step whose loading is free."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

MOST = 4


class KeptBatches:
    """Copies, so that a loop that changes its batch in place finds the next one unchanged."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._cannot = False  # be copied
        self.of: Callable[[], Any] = lambda: None  # their loader, a weak reference
        self._next = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, batch: Any, of: Callable[[], Any]) -> None:
        """The first few are kept, further ones are not. Those of another loader go."""
        if self.of() is not of():
            self.clear()
            self.of = of
        if len(self._kept) >= MOST or self._cannot:
            return
        try:
            self._kept.append(copy_of(batch))
        except Exception:  # a class of the script's; then no step has cached batches
            self._cannot = True
            self.clear()

    def take_over(self, of: Callable[[], Any], structure: Any) -> None:
        """Another loader gives such batches, too."""
        if self._kept and structure == structure_of(self._kept[0]):
            self.of = of

    def take(self) -> Any:
        batch = self._kept[self._next % len(self._kept)]
        self._next += 1
        return copy_of(batch)

    def clear(self) -> None:
        self._kept.clear()


def structure_of(batch: Any) -> Any:
    """Without values and sizes of tensors: comparable."""
    torch = sys.modules["torch"]
    if isinstance(batch, torch.Tensor):
        return batch.dtype, batch.dim()
    if isinstance(batch, dict):
        return type(batch), [(key, structure_of(value)) for key, value in batch.items()]
    if isinstance(batch, list | tuple):
        return type(batch), [structure_of(one) for one in batch]
    return type(batch)


def copy_of(batch: Any) -> Any:
    """Of tensors and the containers around them, pinned memory stays pinned; other things as they are."""
    torch = sys.modules["torch"]
    if isinstance(batch, torch.Tensor):
        if batch.device.type == "cpu" and torch.cuda.is_initialized() and batch.is_pinned():
            return torch.empty_like(batch, pin_memory=True).copy_(batch)
        return batch.clone()
    if isinstance(batch, dict):
        done = copy.copy(batch)
        for key, value in batch.items():
            done[key] = copy_of(value)
        return done
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        kind: Any = type(batch)  # its constructor may take other arguments
        return kind._make(copy_of(one) for one in batch)
    if type(batch) in (list, tuple):
        return type(batch)(copy_of(one) for one in batch)
    if hasattr(batch, "clone"):  # graphs and other batches of their own kind
        return batch.clone()
    return batch
