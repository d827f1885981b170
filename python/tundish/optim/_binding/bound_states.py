"""Detects changes to the tensors in optimizer.state after they were bound to the engine."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .tensor_probe import Entries, values_are


class BoundStates:
    """A snapshot of the bound states.

    Users clear states, replace them, or move them to another device and back. Then the engine's addresses point to
    freed or foreign memory, and the step must rebind.

    The engine compares every entry. Weak references report tensors that died, because a new tensor may reuse their
    ids. No tensor is kept alive: users can free its memory.
    """

    def __init__(self, state: dict[Any, dict[str, Any]]) -> None:
        self._dicts = list(state.values())
        self._died: list[Any] = []
        self._references = [
            weakref.ref(value, self._died.append)
            for state_entries in self._dicts
            for value in state_entries.values()
            if isinstance(value, torch.Tensor)
        ]
        self._entries = Entries(self._dicts)

    def are_current(self, state: dict[Any, dict[str, Any]]) -> bool:
        return (
            not self._died and values_are(state, self._dicts) and self._entries.matches(self._dicts)
        )
