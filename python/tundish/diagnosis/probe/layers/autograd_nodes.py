"""The nodes of autograd that a module's forward made: they are found by their sequence numbers.

A node's number is the count of nodes that its thread had made before. Backward runs the ready node with the highest number
first, so the nodes of one module mostly run one after another. Full backward hooks of torch would put views around the
inputs and outputs of a module, which in-place modules refuse.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

MOST_NODES = 200_000
_NO_NUMBER = 2**62  # gradients are added up by nodes that no forward made
_DEEPEST = 4


def next_number() -> int:
    """Of the node that this thread makes next."""
    return int(sys.modules["torch"]._C._autograd._get_sequence_nr())


def tensors_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """Tensors of an output of any kind: containers, dataclasses, objects."""
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        yield value
        return
    if depth > _DEEPEST or value is None or isinstance(value, str | bytes | int | float):
        return
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list | tuple | set):
        inner = list(value)
    else:
        inner = list(getattr(value, "__dict__", {}).values())
    for one in inner[:1000]:
        yield from tensors_in(one, depth + 1)


class NodeOwners:
    """Which module each node belongs to, noted while one outermost call runs."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._owners: list[int | None] = []
        self._ends: list[Any] = []  # nodes of outputs

    def begins(self, owner: int | None) -> None:
        """Nodes that are made from now on are this module's."""
        self._numbers.append(next_number())
        self._owners.append(owner)

    def add_output(self, output: Any) -> None:
        for one in tensors_in(output):
            if one.grad_fn is not None:
                self._ends.append(one.grad_fn)

    def hook(self, when_run: Callable[[int], Callable[[Any], None]]) -> int:
        """Each node calls when_run(owner) before it runs. How many nodes there are."""
        first = self._numbers[0] if self._numbers else 0
        waiting, seen = self._ends, set(self._ends)
        self._ends = []
        hooked = 0
        while waiting and hooked < MOST_NODES:
            node = waiting.pop()
            number = node._sequence_nr()
            if not first <= number < _NO_NUMBER:
                continue
            owner = self._owners[bisect_right(self._numbers, number) - 1]
            if owner is not None:
                node.register_prehook(when_run(owner))
                hooked += 1
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return hooked
