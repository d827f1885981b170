"""Copies a batch of any class, so that a loop may change the copy."""

from __future__ import annotations

import copy
import sys
from collections import deque
from typing import Any

MOST_VALUES = 10_000  # a batch with more may refer to the whole dataset
_CONSTANT = (str, bytes, int, float, complex, bool, type(None), type, range)


def copy_batch(batch: Any) -> Any:
    """Copies tensors, arrays and the objects that hold them. Pinned memory stays pinned.

    Raises an exception for batches that cannot be copied, such as iterators.
    """
    return _Copier().copied(batch)


class _Copier:
    def __init__(self) -> None:
        self._done: dict[int, Any] = {}  # by id, because parts may be shared, or refer to the whole
        self._count = 0

    def copied(self, value: Any) -> Any:
        if isinstance(value, _CONSTANT):
            return value
        if id(value) in self._done:
            return self._done[id(value)]
        self._count += 1
        if self._count > MOST_VALUES:
            raise ValueError("the batch has too many values")
        done = self._copy(value)
        self._done[id(value)] = done
        return done

    def _copy(self, value: Any) -> Any:
        torch, numpy = sys.modules["torch"], sys.modules.get("numpy")
        if isinstance(value, torch.Tensor):
            return _copy_tensor(value)
        if numpy is not None and isinstance(value, numpy.ndarray):
            return copy.deepcopy(value)  # also the objects in an array
        if isinstance(value, torch.nn.Module):
            return value
        if isinstance(value, tuple):
            return self._copy_tuple(value)
        if hasattr(value, "clone"):  # graphs and other custom batches
            return value.clone()
        if hasattr(value, "__next__"):
            raise TypeError(f"an iterator ({type(value).__name__}) cannot be copied")
        done = copy.copy(value)
        if done is value:  # immutable, or the only object of its kind
            return value
        self._done[id(value)] = done
        self._copy_items(done)
        self._copy_attributes(done)
        return done

    def _copy_tuple(self, value: Any) -> Any:
        items = [self.copied(item) for item in value]
        if all(new is old for new, old in zip(items, value)):
            return value  # such as a torch.Size
        if hasattr(value, "_fields"):
            kind: Any = type(value)  # its constructor may take other arguments
            return kind._make(items)
        return tuple.__new__(type(value), items)

    def _copy_items(self, done: Any) -> None:
        """Replaces the items of a shallow copy. Items of sets are hashable, hence constants."""
        if isinstance(done, dict):
            for key, item in list(done.items()):
                done[key] = self.copied(item)
        elif isinstance(done, list | deque):
            for number, item in enumerate(done):
                done[number] = self.copied(item)

    def _copy_attributes(self, done: Any) -> None:
        for name, item in list(getattr(done, "__dict__", {}).items()):
            done.__dict__[name] = self.copied(item)
        for kind in type(done).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if not name.startswith("__") and hasattr(done, name):
                    object.__setattr__(done, name, self.copied(getattr(done, name)))


def _copy_tensor(tensor: Any) -> Any:
    torch = sys.modules["torch"]
    if tensor.device.type == "cpu" and torch.cuda.is_initialized() and tensor.is_pinned():
        return torch.empty_like(tensor, pin_memory=True).copy_(tensor)
    return tensor.clone()
