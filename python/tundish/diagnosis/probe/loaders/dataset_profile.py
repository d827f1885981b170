"""A few samples of a torch data set made once more in this process: how long, and by which function.

Each function that `__getitem__` calls, each transform and the collate function is a row. A row has its
own time and the part of it that the thread was blocked (disk, network, sleep). Own time is without
waiting for a free CPU: worker processes of the same loader may use all of them.
"""

from __future__ import annotations

import copy
import random
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..clocks.blocked_clock import BlockedClock
from ..random_states import random_states
from ..users_code import is_users
from .row_kinds import kind_of_call

MOST_SAMPLES = 32
_C_ENDS = ("c_return", "c_exception")


class Rows:
    """Own and blocked seconds by name, in the order of their first use."""

    def __init__(self, read_s: float = 0.0) -> None:
        self.read_s = read_s  # what reading the clock takes, once inside every row
        self.all: dict[tuple[str, str], list[float]] = {}
        self.places: dict[tuple[str, str], tuple[str, int]] = {}  # the user's line that calls it

    def note_place(
        self, name: str, kind: str, caller: FrameType | None, called: FrameType | None = None
    ) -> None:
        if (name, kind) not in self.places:
            self.places[name, kind] = _users_line(caller) or _first_line(called) or ("", 0)

    def add(self, name: str, kind: str, own: float, blocked: float) -> None:
        own = max(0.0, own - self.read_s)
        row = self.all.setdefault((name, kind), [0.0, 0.0])
        row[0] += own
        row[1] += min(max(blocked, 0.0), own)


class CallTimes:
    """While it is active: the time of each function that a frame of `watched` code calls directly.

    A function that only passes on (a default loader, Compose) is watched in turn, so that its own
    callees are rows.
    """

    def __init__(self, rows: Rows, clock: BlockedClock, watched: set[Any]) -> None:
        self._rows, self._clock, self._watched = rows, clock, watched
        self._before: Any = None
        # The row that is open now: its frame, the events that end it, its name and kind, its begin.
        self._open: list[tuple[Any, tuple[str, ...], str, str, tuple[float, float]]] = []

    def __enter__(self) -> CallTimes:
        before = sys.getprofile()  # the script's; one of C, such as cProfile's, cannot be set again
        self._before = before if callable(before) else None
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *ignored: Any) -> None:
        sys.setprofile(self._before)

    def _on_event(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            caller = frame.f_back
            if self._open or caller is None or caller.f_code not in self._watched:
                return
            name, kind, passes_on = kind_of_call(frame, None)
            if passes_on:
                self._watched.add(frame.f_code)
                return
            self._rows.note_place(name, kind, caller, frame)
            self._open.append((frame, ("return",), name, kind, self._clock.own()))
        elif event == "c_call":
            if self._open or frame.f_code not in self._watched:
                return
            name, kind, _ = kind_of_call(frame, arg)
            self._rows.note_place(name, kind, frame)
            self._open.append((frame, _C_ENDS, name, kind, self._clock.own()))
        elif self._open:
            opened, ends, name, kind, begin = self._open[-1]
            if opened is frame and event in ends:
                end = self._clock.own()
                self._open.pop()
                self._rows.add(name, kind, end[0] - begin[0], end[1] - begin[1])


def _users_line(frame: FrameType | None) -> tuple[str, int] | None:
    """Of the data set, at most up to the frame of ours that asks for a sample: not of the training loop."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if is_users(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _first_line(called: FrameType | None) -> tuple[str, int] | None:
    """Of a function of the user's that a library calls, such as `loader=` of an ImageFolder."""
    if called is None or not is_users(called.f_code.co_filename):
        return None
    return called.f_code.co_filename, called.f_code.co_firstlineno


def profile_dataset(loader: Any, most_s: float) -> dict[str, Any]:
    """Per sample: seconds, blocked seconds, rows; and the seconds of collating a batch. Takes about twice
    `most_s` and three samples at most. The first sample is not counted: modules are imported and files opened for it,
    which the workers have behind them."""
    dataset = copy.copy(loader.dataset)
    restore = random_states(loader)
    clock = BlockedClock()
    try:
        size = loader.batch_size or 1
        _make(dataset, 1, clock, None, most_s)
        plain, samples = _make(dataset, size, clock, None, most_s)
        rows = Rows(clock.read_s())
        profiled, again = _make(dataset, len(samples), clock, rows, most_s)
        begin = clock.own()
        if loader.batch_size:
            loader.collate_fn(samples)
        end = clock.own()
    finally:
        clock.close()
        restore()
    count = len(samples)
    # Profiling slows Python down between the rows and in them: the plain samples have the time of a whole one.
    sample_s = min(plain[0] / count, profiled[0] / len(again))
    in_rows = sum(times[0] for times in rows.all.values()) / len(again)
    scale = min(1.0, sample_s / in_rows if in_rows else 1.0) / len(again)
    listed = [_row(key, times, scale, rows.places[key]) for key, times in rows.all.items()]
    per_batch = size / count
    return {
        "samples": count,
        "sample_s": sample_s,
        "blocked_s": min(sample_s, max(0.0, profiled[1] / len(again))),
        "rows": sorted(listed, key=lambda row: -float(row["s"])),
        "collate_s": (end[0] - begin[0]) * per_batch,
    }


def _row(
    key: tuple[str, str], times: list[float], scale: float, place: tuple[str, int]
) -> dict[str, Any]:
    own, blocked = (s * scale for s in times)
    named = {"name": key[0], "kind": key[1], "file": place[0], "line": place[1]}
    return {**named, "s": own, "blocked_s": blocked}


def _make(
    dataset: Any, most: int, clock: BlockedClock, rows: Rows | None, most_s: float
) -> tuple[tuple[float, float], list[Any]]:
    """(own, blocked) seconds of some samples, and the samples."""
    draw = _drawer(dataset)
    samples: list[Any] = []
    begin, began = clock.own(), time.perf_counter()
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
        if time.perf_counter() - began > most_s:
            break
    end = clock.own()
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
