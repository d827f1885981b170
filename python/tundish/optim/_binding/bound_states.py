"""Whether the tensors in optimizer.state are still those that the engine was given."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .tensor_probe import Entries, values_are


class BoundStates:
    """Users clear states, replace them, move them to another device and back. Then the engine's addresses
    are those of freed or foreign memory, and the step must bind again.

    The engine compares every entry. A tensor that dies reports itself: another one may get its number. No
    tensor is kept alive: its memory is the user's to free.
    """

    def __init__(self, state: dict[Any, dict[str, Any]]) -> None:
        self._dicts = list(state.values())
        self._died: list[Any] = []
        self._references = [
            weakref.ref(value, self._died.append)
            for one in self._dicts
            for value in one.values()
            if isinstance(value, torch.Tensor)
        ]
        self._entries = Entries(self._dicts)

    def are_current(self, state: dict[Any, dict[str, Any]]) -> bool:
        return (
            not self._died
            and values_are(state, self._dicts)
            and self._entries.are_those_of(self._dicts)
        )
