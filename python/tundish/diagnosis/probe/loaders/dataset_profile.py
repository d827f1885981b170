"""Profiles a torch dataset: loads a few samples in this process and times the functions it calls.

The result has a row for each function that `__getitem__` calls, for each transform and for the
collate function. A row has own time and blocked time (disk, network, sleep). Own time excludes waits
for a free CPU, because the loader's worker processes may use all CPUs.
"""

from __future__ import annotations

import copy
import random
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType
from typing import Any

from ...._process.code_origin import is_user_file
from ..clocks.blocked_clock import BlockedClock
from ..facts import Kind, SampleFacts, SampleRow
from .own_generators import LoadingState
from .row_kinds import classify_call

MOST_SAMPLES = 32
_C_ENDS = ("c_return", "c_exception")


class Rows:
    """Own and blocked seconds by function, in the order of first use."""

    def __init__(self, read_s: float = 0.0) -> None:
        self.read_s = read_s  # duration of one clock reading, which every measured time includes
        self.all: dict[tuple[str, Kind], list[float]] = {}
        self.lines: dict[
            tuple[str, Kind], tuple[str, int]
        ] = {}  # the user's line that calls each function

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
    """Context manager that times each function that the `watched` code calls directly.

    A called function that only delegates, such as Compose, is watched too. The functions that it
    calls become rows.
    """

    def __init__(self, rows: Rows, clock: BlockedClock, watched: set[Any]) -> None:
        self._rows, self._clock, self._watched = rows, clock, watched
        self._before: Any = None
        # The running call: (frame, profiler events that end the call, name, kind, begin).
        self._open: list[tuple[Any, tuple[str, ...], str, Kind, tuple[float, float]]] = []

    def __enter__(self) -> CallTimes:
        self._before = sys.getprofile()  # the script's profiler
        if self._may_replace():
            sys.setprofile(self._on_event)
        return self

    def __exit__(self, *ignored: Any) -> None:
        if self._may_replace():
            sys.setprofile(self._before)

    def _may_replace(self) -> bool:
        """Whether the script's profiler can be restored. A profiler in C, such as cProfile, cannot."""
        return self._before is None or callable(self._before)

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
    """Returns the innermost line of user code in the dataset. Ignores the frames of the training loop."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if is_user_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _first_line(called: FrameType | None) -> tuple[str, int] | None:
    """Returns the first line of a user's function that a library calls (as ImageFolder calls `loader`)."""
    if called is None or not is_user_file(called.f_code.co_filename):
        return None
    return called.f_code.co_filename, called.f_code.co_firstlineno


def profile_dataset(loader: Any, most_s: float) -> SampleFacts:
    """Times the loading of samples and the collation of a batch.

    The first sample is discarded, because it imports modules and opens files. In workers, this has
    already happened. Takes about twice `most_s`, plus the time of three samples, or of three batches
    if the dataset has __getitems__().
    """
    dataset = copy.copy(loader.dataset)
    state = LoadingState(loader)
    clock = BlockedClock()
    try:
        size = _samples_per_batch(loader)
        _make(dataset, 1, clock, None, most_s)
        plain, count, samples = _make(dataset, size, clock, None, most_s)
        rows = Rows(clock.measure_read_s())
        profiled, again, _ = _make(dataset, count, clock, rows, most_s)
        begin = clock.own()
        batch = loader.collate_fn(samples) if _collates(loader) else samples
        end = clock.own()
    finally:
        clock.close()
        state.restore()
    # Profiling slows Python down, so the total time is measured on samples without profiling.
    sample_s = min(plain[0] / count, profiled[0] / again)
    in_rows = sum(times[0] for times in rows.all.values()) / again
    scale = min(1.0, sample_s / in_rows if in_rows else 1.0) / again
    listed = [_row(key, times, scale, rows.lines[key]) for key, times in rows.all.items()]
    per_batch = size / count
    return SampleFacts(
        samples=count,
        batch_size=size,
        sample_s=sample_s,
        blocked_s=min(sample_s, max(0.0, profiled[1] / again)),
        rows=sorted(listed, key=lambda row: -row.s),
        collate_s=(end[0] - begin[0]) * per_batch,
        tensors=_count_tensors(batch) // (1 if _collates(loader) else count),
    )


def _count_tensors(batch: Any) -> int:
    if isinstance(batch, dict):
        return sum(_count_tensors(value) for value in batch.values())
    if isinstance(batch, list | tuple):
        return sum(_count_tensors(item) for item in batch)
    return int(isinstance(batch, sys.modules["torch"].Tensor))


def _row(
    key: tuple[str, Kind], times: list[float], scale: float, place: tuple[str, int]
) -> SampleRow:
    own, blocked = (s * scale for s in times)
    return SampleRow(*key, *place, s=own, blocked_s=blocked)


def _make(
    dataset: Any, most: int, clock: BlockedClock, rows: Rows | None, most_s: float
) -> tuple[tuple[float, float], int, Any]:
    """Loads samples. Returns (own, blocked) seconds, the number of samples, and the samples."""
    next_samples = _sample_function(dataset)
    made, samples = 0, None
    begin, began = clock.own(), time.perf_counter()
    watched = _codes(dataset)
    while (missing := min(most, MOST_SAMPLES) - made) > 0:
        try:
            with nullcontext() if rows is None else CallTimes(rows, clock, watched):
                count, new = next_samples(missing)
        except StopIteration:
            break
        made += count
        samples = new if samples is None else [*samples, *new]
        if time.perf_counter() - began > most_s:
            break
    end = clock.own()
    if not made:
        raise ValueError("the dataset returned no sample")
    return (end[0] - begin[0], end[1] - begin[1]), made, samples


def _samples_per_batch(loader: Any) -> int:
    """Returns the number of samples in a batch: 1 for a loader that does not batch samples."""
    if loader.batch_size:
        return int(loader.batch_size)
    if not _collates(loader):
        return 1
    size = getattr(loader.batch_sampler, "batch_size", None)
    if isinstance(size, int) and size > 0:
        return size
    return len(next(iter(loader.batch_sampler)))


def _collates(loader: Any) -> bool:
    return bool(loader.batch_size) or getattr(loader, "batch_sampler", None) is not None


def _sample_function(dataset: Any) -> Callable[[int], tuple[int, Any]]:
    """Returns a function that loads samples: one per call, or several with __getitems__().

    __getitems__() loads all requested samples. It may return any object that the collate function
    accepts.
    """
    iterable = sys.modules["torch"].utils.data.IterableDataset
    has_items = hasattr(type(dataset), "__getitem__") and hasattr(type(dataset), "__len__")
    if isinstance(dataset, iterable) or not has_items:
        iterator = iter(dataset)
        return lambda most: (1, [next(iterator)])
    count, numbers = len(dataset), random.Random(0)
    if _makes_batches(dataset):
        return lambda most: (
            most,
            dataset.__getitems__([numbers.randrange(count) for _ in range(most)]),
        )
    return lambda most: (1, [dataset[numbers.randrange(count)]])


def _makes_batches(dataset: Any) -> bool:
    """Returns whether torch calls the dataset's __getitems__(). For a Subset, its inner dataset decides."""
    if isinstance(dataset, sys.modules["torch"].utils.data.Subset):
        return _makes_batches(dataset.dataset)
    return callable(getattr(dataset, "__getitems__", None))


def _codes(dataset: Any) -> set[Any]:
    """Returns the code objects of __getitem__ and __iter__ of a dataset and its nested datasets."""
    codes = set()
    pending = [dataset]
    for dataset in pending:
        for name in ("__getitem__", "__getitems__", "__iter__"):
            code = getattr(getattr(type(dataset), name, None), "__code__", None)
            if code is not None:
                codes.add(code)
        inner = [getattr(dataset, "dataset", None), *(getattr(dataset, "datasets", None) or ())]
        pending += [found for found in inner if found is not None and len(pending) < 100]
    return codes
