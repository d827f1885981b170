"""Profiles a torch dataset: creates a few samples in this process and times its functions.

Each function called by `__getitem__`, each transform and the collate function is a row. A row has
own time and blocked time (disk, network, sleep). Own time excludes waiting for a free CPU, because
worker processes of the same loader may use all CPUs.
"""

from __future__ import annotations

import copy
import random
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...._process.code_origin import is_user_file
from ...._process.random_state import loader_random_state
from ..clocks.blocked_clock import BlockedClock
from ..facts import Kind, SampleFacts, SampleRow
from .row_kinds import classify_call

MOST_SAMPLES = 32
_C_ENDS = ("c_return", "c_exception")


class Rows:
    """Own and blocked seconds by function, in the order of first use."""

    def __init__(self, read_s: float = 0.0) -> None:
        self.read_s = read_s  # duration of one clock reading, contained in every row
        self.all: dict[tuple[str, Kind], list[float]] = {}
        self.lines: dict[
            tuple[str, Kind], tuple[str, int]
        ] = {}  # the user's line that calls the function

    def note_line(
        self, name: str, kind: Kind, caller: FrameType | None, called: FrameType | None = None
    ) -> None:
        if (name, kind) not in self.lines:
            self.lines[name, kind] = _user_line(caller) or _first_line(called) or ("", 0)

    def add(self, name: str, kind: Kind, own: float, blocked: float) -> None:
        own = max(0.0, own - self.read_s)
        row = self.all.setdefault((name, kind), [0.0, 0.0])
        row[0] += own
        row[1] += min(max(blocked, 0.0), own)


class CallTimes:
    """Times each function called directly by `watched` code while active.

    Functions that only delegate (a default loader, Compose) are watched in turn, so that the
    functions they call become rows.
    """

    def __init__(self, rows: Rows, clock: BlockedClock, watched: set[Any]) -> None:
        self._rows, self._clock, self._watched = rows, clock, watched
        self._before: Any = None
        # The open row: frame, events that end the row, name, kind, begin.
        self._open: list[tuple[Any, tuple[str, ...], str, Kind, tuple[float, float]]] = []

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
            name, kind, delegates = classify_call(frame, None)
            if delegates:
                self._watched.add(frame.f_code)
                return
            self._rows.note_line(name, kind, caller, frame)
            self._open.append((frame, ("return",), name, kind, self._clock.own()))
        elif event == "c_call":
            if self._open or frame.f_code not in self._watched:
                return
            name, kind, _ = classify_call(frame, arg)
            self._rows.note_line(name, kind, frame)
            self._open.append((frame, _C_ENDS, name, kind, self._clock.own()))
        elif self._open:
            opened, ends, name, kind, begin = self._open[-1]
            if opened is frame and event in ends:
                end = self._clock.own()
                self._open.pop()
                self._rows.add(name, kind, end[0] - begin[0], end[1] - begin[1])


def _user_line(frame: FrameType | None) -> tuple[str, int] | None:
    """Returns the innermost user line inside the dataset, without the training loop."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if is_user_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _first_line(called: FrameType | None) -> tuple[str, int] | None:
    """Returns the first line of a user's function called by a library (ImageFolder's `loader=`)."""
    if called is None or not is_user_file(called.f_code.co_filename):
        return None
    return called.f_code.co_filename, called.f_code.co_firstlineno


def profile_dataset(loader: Any, most_s: float) -> SampleFacts:
    """Times samples, and the collation of a batch.

    Returns per sample: seconds, blocked seconds and rows; and the seconds of collating a batch.
    Takes at most about twice `most_s` and three samples. The first sample is discarded, because it
    imports modules and opens files, which workers have already done.
    """
    dataset = copy.copy(loader.dataset)
    state = loader_random_state(loader)
    clock = BlockedClock()
    try:
        size = loader.batch_size or 1
        _make(dataset, 1, clock, None, most_s)
        plain, samples = _make(dataset, size, clock, None, most_s)
        rows = Rows(clock.measure_read_s())
        profiled, again = _make(dataset, len(samples), clock, rows, most_s)
        begin = clock.own()
        if loader.batch_size:
            loader.collate_fn(samples)
        end = clock.own()
    finally:
        clock.close()
        state.restore()
    count = len(samples)
    # Profiling slows Python down, so the total comes from the samples without profiling.
    sample_s = min(plain[0] / count, profiled[0] / len(again))
    in_rows = sum(times[0] for times in rows.all.values()) / len(again)
    scale = min(1.0, sample_s / in_rows if in_rows else 1.0) / len(again)
    listed = [_row(key, times, scale, rows.lines[key]) for key, times in rows.all.items()]
    per_batch = size / count
    return SampleFacts(
        samples=count,
        sample_s=sample_s,
        blocked_s=min(sample_s, max(0.0, profiled[1] / len(again))),
        rows=sorted(listed, key=lambda row: -row.s),
        collate_s=(end[0] - begin[0]) * per_batch,
    )


def _row(
    key: tuple[str, Kind], times: list[float], scale: float, place: tuple[str, int]
) -> SampleRow:
    own, blocked = (s * scale for s in times)
    return SampleRow(*key, *place, s=own, blocked_s=blocked)


def _make(
    dataset: Any, most: int, clock: BlockedClock, rows: Rows | None, most_s: float
) -> tuple[tuple[float, float], list[Any]]:
    """Creates samples. Returns (own, blocked) seconds and the samples."""
    next_sample = _sample_function(dataset)
    samples: list[Any] = []
    begin, began = clock.own(), time.perf_counter()
    watched = _codes(dataset)
    while len(samples) < min(most, MOST_SAMPLES):
        try:
            if rows is None:
                samples.append(next_sample())
            else:
                with CallTimes(rows, clock, watched):
                    samples.append(next_sample())
        except StopIteration:
            break
        if time.perf_counter() - began > most_s:
            break
    end = clock.own()
    if not samples:
        raise ValueError("the dataset returned no sample")
    return (end[0] - begin[0], end[1] - begin[1]), samples


def _sample_function(dataset: Any) -> Callable[[], Any]:
    if hasattr(type(dataset), "__getitem__") and hasattr(type(dataset), "__len__"):
        count = len(dataset)
        numbers = random.Random(0)
        return lambda: dataset[numbers.randrange(count)]
    iterator = iter(dataset)
    return lambda: next(iterator)


def _codes(dataset: Any) -> set[Any]:
    """Returns the code of __getitem__ or __iter__, also of nested datasets."""
    codes = set()
    pending = [dataset]
    for dataset in pending:
        for name in ("__getitem__", "__iter__"):
            code = getattr(getattr(type(dataset), name, None), "__code__", None)
            if code is not None:
                codes.add(code)
        inner = [getattr(dataset, "dataset", None), *(getattr(dataset, "datasets", None) or ())]
        pending += [found for found in inner if found is not None and len(pending) < 100]
    return codes
