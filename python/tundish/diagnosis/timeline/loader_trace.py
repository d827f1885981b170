"""Reads the time spans of a tundish.Loader's threads from a file that the engine wrote.

Times in the file are in microseconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

MOST_BYTES = 256 << 20


@dataclass
class LoaderTrace:
    """The time spans of each thread.

    A span is (name, begin in ns, end in ns, number of the sample or batch).
    """

    threads: dict[int, str] = field(default_factory=dict)
    spans: dict[int, list[tuple[str, int, int, int]]] = field(default_factory=dict)
    dropped: int = 0


def read_loader_trace(path: str) -> LoaderTrace:
    """Reads a trace file. Raises ValueError or OSError for other files."""
    with open(path, "rb") as raw:
        data = raw.read(MOST_BYTES)
    if data[:2] == b"\x1f\x8b":
        with gzip.open(path) as file:
            data = file.read(MOST_BYTES)
    values = json.loads(data)
    events = values.get("traceEvents") if isinstance(values, dict) else None
    if not isinstance(events, list):
        raise ValueError("no list of events")
    out = LoaderTrace()
    other = values.get("otherData")
    if isinstance(other, dict) and type(other.get("dropped_spans")) is int:
        out.dropped = other["dropped_spans"]
    for event in events:
        if isinstance(event, dict):
            _add_event(event, out)
    return out


def _add_event(event: dict[str, Any], out: LoaderTrace) -> None:
    thread, args = event.get("tid"), event.get("args")
    if type(thread) is not int or not isinstance(args, dict):
        return
    if event.get("name") == "thread_name":
        out.threads[thread] = str(args.get("name"))
    elif event.get("ph") == "X" and all(
        type(event.get(key)) in (int, float) for key in ("ts", "dur")
    ):
        begin = round(event["ts"] * 1000)
        number = args.get("number")
        span = (str(event.get("name")), begin, begin + round(event["dur"] * 1000))
        out.spans.setdefault(thread, []).append((*span, number if type(number) is int else 0))
