"""A few samples of a torch data set made once more in this process: how long, and by which function.

Each function that `__getitem__` calls, each transform and the collate function is a row. A row has its
wall time and the part of it that the thread was blocked (disk, network, sleep): what is neither
running nor waiting for a free CPU.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .blocked_clock import BlockedClock
from .random_states import random_states
from .row_kinds import kind_of_call

MOST_SAMPLES = 32
_C_ENDS = ("c_return", "c_exception")


class Rows:
    """Wall and blocked seconds by name, in the order of their first use."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], list[float]] = {}

    def add(self, name: str, kind: str, wall: float, blocked: float) -> None:
        row = self.all.setdefault((name, kind), [0.0, 0.0])
        row[0] += wall
        row[1] += min(max(blocked, 0.0), wall)


class CallTimes:
    """While it is active: the time of each function that a frame of `watched` code calls directly.

    A function that only passes on (a default loader, Compose) is watched in turn, so that its own
    callees are rows.
    """

    def __init__(self, rows: Rows, clock: BlockedClock, watched: set[Any]) -> None:
        self._rows, self._clock, self._watched = rows, clock, watched
        # The row that is open now: its frame, the events that end it, its name and kind, its begin.
        self._open: list[tuple[Any, tuple[str, ...], str, str, tuple[float, float]]] = []

    def __enter__(self) -> CallTimes:
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *ignored: Any) -> None:
        sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            caller = frame.f_back
            if self._open or caller is None or caller.f_code not in self._watched:
                return
            name, kind, passes_on = kind_of_call(frame, None)
            if passes_on:
                self._watched.add(frame.f_code)
                return
            self._open.append((frame, ("return",), name, kind, self._clock.now()))
        elif event == "c_call":
            if self._open or frame.f_code not in self._watched:
                return
            name, kind, _ = kind_of_call(frame, arg)
            self._open.append((frame, _C_ENDS, name, kind, self._clock.now()))
        elif self._open:
            opened, ends, name, kind, begin = self._open[-1]
            if opened is frame and event in ends:
                end = self._clock.now()
                self._open.pop()
                self._rows.add(name, kind, end[0] - begin[0], end[1] - begin[1])


def profile_dataset(loader: Any, most_s: float) -> dict[str, Any]:
    """Per sample: seconds, blocked seconds, rows; and the seconds of collating a batch. Takes about twice
    `most_s` and two samples at most."""
    dataset = copy.copy(loader.dataset)
    restore = random_states(loader)
    clock = BlockedClock()
    try:
        size = loader.batch_size or 1
        plain, samples = _make(dataset, size, clock, None, most_s)
        rows = Rows()
        profiled, again = _make(dataset, len(samples), clock, rows, most_s)
        begin = clock.now()
        if loader.batch_size:
            loader.collate_fn(samples)
        end = clock.now()
    finally:
        clock.close()
        restore()
    count = len(samples)
    # The shares are those of the profiled samples, the seconds those of the plain ones.
    scale = min(1.0, (plain[0] / count) / (profiled[0] / len(again))) / len(again)
    listed = [
        {"name": name, "kind": kind, "s": wall * scale, "blocked_s": blocked * scale}
        for (name, kind), (wall, blocked) in rows.all.items()
    ]
    per_batch = size / count
    return {
        "samples": count,
        "sample_s": profiled[0] * scale,
        "blocked_s": min(profiled[0], max(0.0, profiled[1])) * scale,
        "rows": sorted(listed, key=lambda row: -float(row["s"])),
        "collate_s": (end[0] - begin[0]) * per_batch,
    }


def _make(
    dataset: Any, most: int, clock: BlockedClock, rows: Rows | None, most_s: float
) -> tuple[tuple[float, float], list[Any]]:
    """(wall, blocked) of some samples, and the samples."""
    draw = _drawer(dataset)
    samples: list[Any] = []
    begin = clock.now()
    watched = _codes(dataset)
    while len(samples) < min(most, MOST_SAMPLES):
        try:
            if rows is None:
                samples.append(draw())
            else:
                with CallTimes(rows, clock, watched):
                    samples.append(draw())
        except StopIteration:
            break
        if clock.now()[0] - begin[0] > most_s:
            break
    end = clock.now()
    if not samples:
        raise ValueError("the data set gave no sample")
    return (end[0] - begin[0], end[1] - begin[1]), samples


def _drawer(dataset: Any) -> Callable[[], Any]:
    if hasattr(type(dataset), "__getitem__") and hasattr(type(dataset), "__len__"):
        count = len(dataset)
        numbers = random.Random(0)
        return lambda: dataset[numbers.randrange(count)]
    iterator = iter(dataset)
    return lambda: next(iterator)


def _codes(dataset: Any) -> set[Any]:
    """The code of __getitem__ or __iter__, also of data sets inside this one."""
    codes = set()
    waiting = [dataset]
    for one in waiting:
        for name in ("__getitem__", "__iter__"):
            code = getattr(getattr(type(one), name, None), "__code__", None)
            if code is not None:
                codes.add(code)
        inner = [getattr(one, "dataset", None), *(getattr(one, "datasets", None) or ())]
        waiting += [found for found in inner if found is not None and len(waiting) < 100]
    return codes
