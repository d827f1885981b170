"""Seconds of each module's own work, forward and backward: what its children take is theirs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Seconds = dict[tuple[int, bool], float]  # by module, and whether in backward


class NoClock:
    """For the step in which operations are counted."""

    def moved(self, owner: int | None, backward: bool) -> None:
        """The time until now is the owner's."""

    def resumed(self) -> None:
        """The module goes on from here."""

    def step_ended(self) -> Seconds:
        return {}


class WallClock(NoClock):
    """Of a CPU, whose operations end before they return. What the hooks take counts for nobody."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._since = clock()
        self._seconds: Seconds = {}

    def moved(self, owner: int | None, backward: bool) -> None:
        now = self._clock()
        if owner is not None:
            key = (owner, backward)
            self._seconds[key] = self._seconds.get(key, 0.0) + now - self._since

    def resumed(self) -> None:
        self._since = self._clock()

    def step_ended(self) -> Seconds:
        done, self._seconds = self._seconds, {}
        return done


class GpuClock(NoClock):
    """Of a GPU: events on the stream that the loop uses, read when the step has ended."""

    def __init__(self, record: Callable[[], Any], synchronize: Callable[[], None]) -> None:
        self._record, self._synchronize = record, synchronize
        self._marks: list[tuple[int | None, bool, Any]] = []  # whose time ends at the event

    def moved(self, owner: int | None, backward: bool) -> None:
        event = self._record()
        if event is not None:
            self._marks.append((owner, backward, event))

    def step_ended(self) -> Seconds:
        marks, self._marks = self._marks, []
        self._synchronize()
        seconds: Seconds = {}
        before: Any = None
        for owner, backward, event in marks:
            if owner is not None and before is not None:
                key = (owner, backward)
                seconds[key] = seconds.get(key, 0.0) + before.elapsed_time(event) / 1e3
            before = event
        return seconds


def gpu_clock() -> GpuClock:
    torch = sys.modules["torch"]

    def record() -> Any:
        if torch.cuda.is_current_stream_capturing():
            return None  # an event that is not captured would end the script's capture
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    return GpuClock(record, torch.cuda.synchronize)
