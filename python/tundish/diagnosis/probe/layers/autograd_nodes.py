"""Assigns autograd nodes to the modules that created them, by sequence number.

torch numbers the nodes of a thread in the order of their creation. The backward pass runs the ready
node with the highest number first, so the nodes of one module mostly run one after another. torch's
full backward hooks cannot be used: they wrap the inputs and outputs of a module in views, which
in-place modules reject.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

MOST_NODES = 200_000
_NO_NUMBER = 2**62  # gradient accumulation nodes have this number or more: no module created them
_DEEPEST = 4


def next_number() -> int:
    """Returns the number of the next node created in this thread."""
    return int(sys.modules["torch"]._C._autograd._get_sequence_nr())


def tensors_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yields the tensors in an output. Searches containers, dataclasses and other objects."""
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
    for item in inner[:1000]:
        yield from tensors_in(item, depth + 1)


class NodeOwners:
    """Records which module owns each node during one outermost call."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._owners: list[int | None] = []
        self._ends: list[Any] = []  # nodes that created the outputs

    def begins(self, owner: int | None) -> None:
        """Assigns all nodes created from now on to this module."""
        self._numbers.append(next_number())
        self._owners.append(owner)

    def add_output(self, output: Any) -> None:
        for tensor in tensors_in(output):
            if tensor.grad_fn is not None:
                self._ends.append(tensor.grad_fn)

    def hook(self, when_run: Callable[[int], Callable[[Any], None]]) -> int:
        """Makes each node call `when_run(owner)` before it runs.

        Returns the number of hooked nodes.
        """
        first = self._numbers[0] if self._numbers else 0
        pending, seen = self._ends, set(self._ends)
        self._ends = []
        hooked = 0
        while pending and hooked < MOST_NODES:
            node = pending.pop()
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
                    pending.append(following)
        return hooked
