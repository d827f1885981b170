"""Divides the time of a training step into parts, such as data, forward and backward."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# The parts of a step in their usual order. "other" is time outside all hooks. "own" is the doctor's
# own work.
PARTS = (
    *("data", "copy", "forward", "backward", "communication", "optimizer", "zero_grad"),
    *("other", "own"),
)
Mark = tuple[str, Any]  # (the part that ends here, a GPU event)


class StepLedger:
    """Adds up the time that the loop's thread spends in each part of a step.

    If parts are nested, time counts for the innermost part. `make_event` records a GPU event whenever
    the part changes, to measure GPU time as well.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        make_event: Callable[[], Any] | None = None,
    ) -> None:
        self._clock, self.make_event = clock, make_event
        self._inside: list[str] = []
        self._since = clock()
        self.changes = 0  # number of part changes in all steps, to estimate the overhead
        self.listener: Callable[[str, float, float, str], None] | None = None
        self._begin()

    def _begin(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.counts = dict.fromkeys(PARTS, 0)  # number of times each part was entered
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
        """Removes a part that ended without leave(), for example because of an exception."""
        if part in self._inside:
            outer = [inner for inner in self._inside if inner != part]
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
        """Moves time of this step to another part, once the purpose of the time is known."""
        seconds = min(seconds, self.seconds[part])
        self.seconds[part] -= seconds
        self.seconds[to] += seconds

    def close_step(self) -> tuple[dict[str, float], list[Mark]]:
        """Ends the step. Returns the seconds of each part, and the GPU marks."""
        self._change(self.part)
        done = self.seconds, self.marks
        self._begin()
        if self.make_event is not None:
            self.marks.append(("", done[1][-1][1]))  # beginning of the new step
        return done
