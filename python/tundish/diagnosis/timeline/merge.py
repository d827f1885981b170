"""Merges the timeline files that the processes of a run wrote (probe/profiles/timeline_steps.py)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from ..doctor_json import TimelineJson
from ..facts_file import read_timeline_part
from ..probe.clocks.timeline_clocks import ClockPair, error_ns
from ..probe.loaders.worker_spans import read_ring
from ..probe.profiles.timeline_part import TimelinePart
from .chrome_file import MOST_BYTES, ChromeFile
from .loader_trace import read_loader_trace
from .torch_trace import read_torch_trace
from .tracks import FLOW_BITS, Tracks, name_event, sort_event

LABEL = "profiled, excluded from the figures"


@dataclass
class _Process:
    """The timeline of one process.

    `begin` and `end` are the limits of the recorded time, in ns of CLOCK_MONOTONIC.
    """

    part: TimelinePart
    index: int
    title: str
    clocks: tuple[ClockPair, ClockPair]
    begin: int
    end: int
    notes: list[str] = field(default_factory=list)

    def overlaps(self, begin: int, end: int) -> bool:
        return begin < self.end and end > self.begin


def make_timeline(folder: str, path: str, most_bytes: int = MOST_BYTES) -> TimelineJson | None:
    """Writes the file `path`. Returns a summary for the report, or None if no step was recorded.

    Times in the file are in microseconds of CLOCK_MONOTONIC, as in files of Loader(trace=). As in files
    of torch's profiler, `baseTimeNanoseconds` is the Unix time at which this clock was 0.
    """
    processes = _processes(folder)
    if not processes:
        return None
    writer = _Writer(path, most_bytes)
    with writer.file:
        for process in processes:
            writer.add_loop(process)
            writer.add_workers(process, folder)
            writer.add_loaders(process)
        for process in processes:
            writer.add_torch(process, folder)
        worst = max(error_ns(*process.clocks) for process in processes)
        dropped = writer.dropped(processes)
        other = {"clock": "CLOCK_MONOTONIC", "clock_error_ns": worst, "dropped_events": dropped}
        unix = processes[0].clocks[0].offset_ns
        writer.file.finish({"baseTimeNanoseconds": unix, "otherData": other})
    return {
        "file": path,
        "steps": sum(len(process.part.steps) for process in processes),
        "events": writer.file.events,
        "dropped": dropped,
        "bytes": writer.file.bytes,
        "clock_error_s": worst / 1e9,
        "sources": writer.sources,
        "notes": [note for process in processes for note in process.notes],
    }


def write_timeline(folder: str, path: str) -> TimelineJson | None:
    """Like make_timeline(), but turns errors into notes, so that the verdict is not lost."""
    try:
        return make_timeline(folder, path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        note = f"the timeline could not be written: {type(error).__name__}: {error}"
        return {
            "file": path,
            "steps": 0,
            "events": 0,
            "dropped": 0,
            "bytes": 0,
            "clock_error_s": 0.0,
            "sources": {},
            "notes": [note],
        }


def _processes(folder: str) -> list[_Process]:
    names = sorted(name for name in os.listdir(folder) if name.endswith(".timeline"))
    parts = [read_timeline_part(os.path.join(folder, name)) for name in names]
    found = [part for part in parts if part.steps]
    found.sort(key=lambda part: (part.rank, part.pid))
    out = []
    for index, part in enumerate(found):
        title = f"rank {part.rank}: " if part.world > 1 else ""
        clocks = part.clocks[0], part.clocks[1]
        begin, end = round(part.steps[0].begin * 1e9), round(part.steps[-1].end * 1e9)
        out.append(_Process(part, index, title, clocks, begin, end))
    return out


class _Writer:
    def __init__(self, path: str, most_bytes: int) -> None:
        self.file = ChromeFile(path, most_bytes)
        self._tracks, self._next_sort_index = Tracks(), 0
        self.sources = {"loop": 0, "loader": 0, "workers": 0, "torch": 0, "kernels": 0, "copies": 0}

    def dropped(self, processes: list[_Process]) -> int:
        return self.file.dropped + sum(process.part.dropped for process in processes)

    def _add_process(self, key: Any, title: str) -> int:
        pid = self._tracks.number(key)
        self.file.add(name_event("process_name", pid, 0, title), always=True)
        self.file.add(
            sort_event(pid, self._next_sort_index - 1000), always=True
        )  # this sorts the tracks above torch's tracks
        self._next_sort_index += 1
        return pid

    def _span(
        self, source: str, at: tuple[int, int], name: str, begin: int, end: int, **args: Any
    ) -> None:
        event = {"ph": "X", "name": name, "cat": f"tundish.{source}", "pid": at[0], "tid": at[1]}
        event |= {"ts": begin / 1000, "dur": (end - begin) / 1000}
        self.sources[source] += self.file.add({**event, "args": args} if args else event)

    def add_loop(self, process: _Process) -> None:
        pid = self._add_process((process.index, "loop"), f"{process.title}training loop")
        self.file.add(name_event("thread_name", pid, 1, f"steps ({LABEL})"), always=True)
        self.file.add(name_event("thread_name", pid, 2, "parts of a step"), always=True)
        for step in process.part.steps:
            name, args = f"step {step.number}", {"phase": "timeline", "note": LABEL}
            begin, end = round(step.begin * 1e9), round(step.end * 1e9)
            self._span("loop", (pid, 1), name, begin, end, **args)
        for span in process.part.spans:
            begin, end = max(round(span.begin * 1e9), process.begin), round(span.end * 1e9)
            if end > begin:  # false for the doctor's own work before the first step
                self._span("loop", (pid, 2), span.name, begin, end)

    def add_workers(self, process: _Process, folder: str) -> None:
        """Adds the batches of worker processes, and the waits between batches."""
        start = f"{process.part.pid}-"
        names = [file for file in os.listdir(folder) if file.startswith(start)]
        for name in sorted(file for file in names if file.endswith(".worker")):
            worker, spans = read_ring(os.path.join(folder, name))
            near = [span for span in spans if process.overlaps(span[1], span[2])]
            later = [span for span in spans if span[1] >= process.end][:1]
            if not near and not (later and spans[0][1] < process.begin):
                continue
            pid = self._add_process(
                (process.index, name),
                f"{process.title}DataLoader worker {worker} (pid {name[len(start) : -7]})",
            )
            self.file.add(name_event("thread_name", pid, 1, "batches"), always=True)
            until = process.begin
            for number, begin, end in [*near, *later]:
                wait_end = min(begin, process.end)
                if wait_end > until:
                    self._span("workers", (pid, 1), "worker.wait", until, wait_end)
                if begin < process.end:
                    self._span("workers", (pid, 1), "worker.fetch", begin, end, batch=number)
                until = max(until, end)

    def add_loaders(self, process: _Process) -> None:
        for path in process.part.loaders:
            try:
                trace = read_loader_trace(path)
            except (OSError, ValueError) as error:
                process.notes.append(f"a loader's trace cannot be read: {error}")
                continue
            near = {
                thread: [span for span in spans if process.overlaps(span[1], span[2])]
                for thread, spans in trace.spans.items()
            }
            if not any(near.values()):
                continue
            pid = self._add_process((process.index, path), f"{process.title}tundish.Loader")
            for thread, spans in near.items():
                name = trace.threads.get(thread, f"thread {thread}")
                self.file.add(name_event("thread_name", pid, thread, name), always=True)
                for name, begin, end, number in spans:
                    self._span("loader", (pid, thread), name, begin, end, number=number)

    def add_torch(self, process: _Process, folder: str) -> None:
        path = os.path.join(folder, f"{process.part.pid}.torch")
        try:
            events = read_torch_trace(path, *process.clocks)
        except (OSError, ValueError) as error:
            process.notes.append(f"torch's profile cannot be read: {error}")
            return
        for event in events:
            old = event["pid"]
            event["pid"] = self._tracks.number((process.index, "torch", old), old)
            if event["ph"] == "M":
                _add_title(event, process.title)
                self.file.add(event, always=True)
                continue
            event["ts"] /= 1000
            if "dur" in event:
                event["dur"] /= 1000
            if type(event.get("id")) is int:  # an arrow from a launch to its kernel
                event["id"] += process.index << FLOW_BITS
            if self.file.add(event):
                self._count(event)

    def _count(self, event: dict[str, Any]) -> None:
        self.sources["torch"] += 1
        self.sources["kernels"] += event.get("cat") == "kernel"
        self.sources["copies"] += event.get("cat") == "gpu_memcpy"


def _add_title(event: dict[str, Any], title: str) -> None:
    args = event.get("args")
    if title and event.get("name") == "process_name" and isinstance(args, dict):
        event["args"] = {**args, "name": f"{title}{args.get('name')}"}
