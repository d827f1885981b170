"""Measures the forward and backward time of each module, excluding its children."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Seconds = dict[tuple[int, bool], float]  # seconds by (module number, whether in the backward pass)


class NoClock:
    """A clock that measures nothing, for the step that counts operations."""

    def moved(self, owner: int | None, backward: bool) -> None:
        """Assigns the time since the last call to `owner`, a module number."""

    def resumed(self) -> None:
        """Starts a new interval, which excludes the time since moved()."""

    def step_ended(self) -> Seconds:
        return {}


class WallClock(NoClock):
    """Measures modules on a CPU, where operations are synchronous. Excludes the time of the hooks."""

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
    """Measures modules on a GPU with events on the loop's stream. Reads the events after each step."""

    def __init__(self, record: Callable[[], Any], synchronize: Callable[[], None]) -> None:
        self._record, self._synchronize = record, synchronize
        self._marks: list[
            tuple[int | None, bool, Any]
        ] = []  # each event, with the owner of the time that ends there

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
            return None  # the script captures a CUDA graph, which recording an event would break
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    return GpuClock(record, torch.cuda.synchronize)
