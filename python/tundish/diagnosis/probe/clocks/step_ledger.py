"""The parts of a step: where the loop's thread is now, and for how long it was in each part."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Of a step, in the order in which a loop has them. "other" is what no hook knows; "own" is the doctor.
PARTS = (
    *("data", "copy", "forward", "backward", "communication", "optimizer", "zero_grad"),
    *("other", "own"),
)
Mark = tuple[str, Any]  # the part that ends here, and an event of the GPU


class Ledger:
    """Used by the loop's thread. Time in nested parts counts for the innermost one.

    `make_event` records an event of the GPU at every change, so that the GPU's own time is known too.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        make_event: Callable[[], Any] | None = None,
    ) -> None:
        self._clock, self.make_event = clock, make_event
        self._inside: list[str] = []
        self._since = clock()
        self.changes = 0  # of all steps, for the cost of measuring
        self.listener: Callable[[str, float, float, str], None] | None = None
        self._begin()

    def _begin(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.counts = dict.fromkeys(PARTS, 0)  # how often a part was entered
        self.marks: list[Mark] = []

    @property
    def part(self) -> str:
        return self._inside[-1] if self._inside else "other"

    def is_in(self, part: str) -> bool:
        return part in self._inside

    def enter(self, part: str) -> None:
        self._change(part)
        self._inside.append(part)
        self.counts[part] += 1

    def leave(self) -> None:
        self._change(self._inside[-2] if len(self._inside) > 1 else "other")
        self._inside.pop()

    def drop(self, part: str) -> None:
        """Of a part that ended without a word: nothing is inside it any more."""
        if part in self._inside:
            outer = [one for one in self._inside if one != part]
            self._change(outer[-1] if outer else "other")
            self._inside = outer

    def _change(self, begins: str) -> None:
        now = self._clock()
        part = self._inside[-1] if self._inside else "other"
        since, self._since = self._since, now
        self.seconds[part] += now - since
        self.changes += 1
        if self.listener is not None:
            self.listener(part, since, now, begins)
        if self.make_event is not None:
            self.marks.append((part, self.make_event()))

    def move(self, part: str, to: str, seconds: float) -> None:
        """Of this step, where it is known later what the time was spent for."""
        seconds = min(seconds, self.seconds[part])
        self.seconds[part] -= seconds
        self.seconds[to] += seconds

    def close_step(self) -> tuple[dict[str, float], list[Mark]]:
        """The seconds by part since the last call, and the marks of the GPU."""
        self._change(self.part)
        done = self.seconds, self.marks
        self._begin()
        if self.make_event is not None:
            self.marks.append(("", done[1][-1][1]))  # where this step begins
        return done
