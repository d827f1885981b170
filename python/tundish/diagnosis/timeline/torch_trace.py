"""Reads the output of torch's profiler and converts times to CLOCK_MONOTONIC.

In these files, `ts` is in microseconds after `baseTimeNanoseconds`, a Unix time. Files from torch
before 2.4 have no base time; their `ts` is a Unix time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from ..probe.clocks.timeline_clocks import ClockPair, to_monotonic_ns

MOST_BYTES = 1 << 30  # limit for the input file
# The most informative categories come first, because the last events may not fit into the file.
_ORDER = (
    *("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "user_annotation"),
    *("cuda_runtime", "cuda_driver", "cpu_op"),
)


def read_torch_trace(path: str, begin: ClockPair, end: ClockPair) -> list[dict[str, Any]]:
    """Returns the events with `ts` in ns of CLOCK_MONOTONIC and `dur` in ns.

    Events are sorted by category, most informative first, and then by time. Skips malformed events.
    Raises ValueError if the file is not from torch's profiler.
    """
    if os.path.getsize(path) > MOST_BYTES:
        raise ValueError(f"torch's profiler wrote more than {MOST_BYTES >> 20} MiB")
    with open(path, encoding="utf-8", errors="replace") as file:
        values = json.load(file)
    events = values.get("traceEvents") if isinstance(values, dict) else None
    base = values.get("baseTimeNanoseconds", 0) if isinstance(values, dict) else 0
    if not isinstance(events, list) or not isinstance(base, int):
        raise ValueError("the file contains no list of events")
    found = list(_converted(events, base, begin, end))
    return sorted(found, key=lambda event: (category_order(event), event.get("ts", 0)))


def category_order(event: dict[str, Any]) -> int:
    if event["ph"] == "M":
        return -1
    category = event.get("cat")
    return _ORDER.index(category) if category in _ORDER else len(_ORDER)


def _converted(
    events: list[Any], base: int, begin: ClockPair, end: ClockPair
) -> Iterator[dict[str, Any]]:
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
            continue
        if type(event.get("pid")) is not int or type(event.get("tid")) is not int:
            continue  # "Spans" and "Traces" are the profiler's own tracks
        if event["ph"] == "M":
            event.pop("ts", None)
            yield event
            continue
        ts, dur = event.get("ts"), event.get("dur")
        if not _is_number(ts) or not (dur is None or _is_number(dur)):
            continue
        event["ts"] = to_monotonic_ns(base + round(ts * 1000), begin, end)  # type: ignore[operator]
        if dur is not None:
            event["dur"] = round(dur * 1000)
        yield event


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and abs(value) < 1e18)
