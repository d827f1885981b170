"""Whether the tensors in optimizer.state are still those that the engine was given."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .looking import values_are


class BoundStates:
    """Users clear states, replace them, move them to another device and back. Then the engine's addresses
    are those of freed or foreign memory, and the step must bind again.

    Looking at every tensor in every step would take as long as the rest of the step's host time. So a
    tensor that dies reports itself, the dictionaries are compared, and of their tensors two: what moves
    or replaces states does it with all of them. No tensor is kept alive: its memory is the user's to free.
    """

    def __init__(self, state: dict[Any, dict[str, Any]]) -> None:
        self._dicts = list(state.values())
        self._died: list[Any] = []
        held = [
            (one, key, value)
            for one in self._dicts
            for key, value in one.items()
            if key != "step" and isinstance(value, torch.Tensor)
        ]
        self._references = [weakref.ref(value, self._died.append) for _, _, value in held]
        self._samples: list[tuple[Any, str, int, int]] = [
            (one, key, id(value), value.data_ptr()) for one, key, value in (*held[:1], *held[-1:])
        ]

    def are_current(self, state: dict[Any, dict[str, Any]]) -> bool:
        if self._died or not values_are(state, self._dicts):
            return False
        return all(
            id(value := one.get(key)) == number and value.data_ptr() == place
            for one, key, number, place in self._samples
        )
