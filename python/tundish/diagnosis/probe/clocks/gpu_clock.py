"""The GPU's own time of each part of a step, by events on the stream that the loop uses.

An event is reached when the GPU has done everything that was queued before it. Between two events
around a part that queues nothing, such as waiting for a batch, the GPU is idle exactly as long as the
host kept it waiting: if work is still queued, both events follow each other at once.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from .step_ledger import Mark


def event_maker() -> Any:
    """A function that records an event on the current stream; None without a GPU that is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or not torch.cuda.is_available():
        return None

    def record() -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    return record


def gpu_seconds(marks: list[Mark]) -> dict[str, float]:
    """By part, of a step whose events are reached. The first mark is where the step begins."""
    out: dict[str, float] = {}
    for (_, before), (part, after) in itertools.pairwise(marks):
        out[part] = out.get(part, 0.0) + before.elapsed_time(after) / 1e3
    return out


def synchronize() -> None:
    """So that every recorded event is reached."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and torch.cuda.is_available():
        torch.cuda.synchronize()
