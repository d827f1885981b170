"""Records a timeline of some steps: torch's profiler, parts of the step, loader threads, workers.

Each process writes several files to a folder. The doctor merges them into one (timeline/merge.py):

    PID.timeline        steps, parts of steps, and two readings of the clocks
    PID.torch           output of torch's profiler
    loader-PID-N.trace  spans of the threads of a tundish.Loader
    PPID-PID.worker     batches of a worker process of torch's DataLoader (worker_spans.py)
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

from ..clocks.gpu_clock import synchronize
from ..clocks.timeline_clocks import ClockPair, read_clocks
from .recorded_facts import TimelineFacts
from .timeline_part import RecordedSpan, RecordedStep, TimelinePart

MOST_SPANS = 100_000


class TimelineRecorder:
    """A recorder (see recorders.py) of the timeline."""

    def __init__(self, folder: str, steps: int) -> None:
        self.steps, self.failed = steps, ""
        self._folder = folder
        self._profiler: Any = None
        self._begin: ClockPair | None = None
        self._steps: list[tuple[int, float, float]] = []  # (number, begin, end)
        self._spans: list[tuple[str, float, float]] = []  # (part, begin, end)
        self._dropped = 0
        self._since = 0.0
        self._watch: Any = None
        self._done: TimelineFacts | None = None

    def start(self, watch: Any) -> None:
        torch = sys.modules["torch"]
        self._watch = watch
        kinds = torch.profiler.ProfilerActivity
        wanted = [kinds.CPU]
        if torch.cuda.is_initialized() and torch.cuda.is_available():
            wanted.append(kinds.CUDA)
        synchronize()  # excludes kernels of the previous step
        self._begin = read_clocks()
        profiler = torch.profiler.profile(activities=wanted)
        profiler.start()
        self._profiler = profiler
        if (traces := sys.modules.get("tundish.data.traces")) is not None:
            traces.start(self._folder)
        self._since = read_clocks().monotonic_ns / 1e9

    def changed(self, ended: str, since: float, now: float, begins: str) -> None:
        if len(self._spans) < MOST_SPANS:
            self._spans.append((ended, since, now))
        else:
            self._dropped += 1

    def step_ended(self, batch: Any) -> None:
        now = read_clocks().monotonic_ns / 1e9
        self._steps.append((len(self._watch.steps), self._since, now))
        self._since = now

    def stop(self) -> None:
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        try:
            synchronize()  # includes kernels of the last step
            profiler.stop()
            end = read_clocks()
        finally:
            traces = self._loader_traces()
        name = os.path.join(self._folder, f"{os.getpid()}.torch")
        profiler.export_chrome_trace(name)
        self._save(end, traces)

    def _loader_traces(self) -> list[str]:
        """Returns the trace files of the threads of every live tundish.Loader."""
        traces = sys.modules.get("tundish.data.traces")
        return [] if traces is None else list(traces.stop())

    def _save(self, end: ClockPair, traces: list[str]) -> None:
        assert self._begin is not None
        self._done = TimelineFacts(len(self._steps))
        watch = self._watch
        part = TimelinePart(
            pid=os.getpid(),
            rank=watch.rank,
            world=watch.world,
            clocks=[self._begin, end],
            steps=[RecordedStep(*step) for step in self._steps],
            spans=[RecordedSpan(*span) for span in self._spans],
            dropped=self._dropped,
            loaders=traces,
        )
        path = os.path.join(self._folder, f"{os.getpid()}.timeline")
        with contextlib.suppress(OSError):  # the folder is gone if the doctor was killed
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump(part, file, default=vars)  # all nested objects are dataclasses
            os.replace(path + ".new", path)

    def facts(self) -> TimelineFacts | None:
        return self._done
