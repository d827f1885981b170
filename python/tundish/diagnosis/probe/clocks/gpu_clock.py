"""Measures the GPU time of each part of a step with events on the loop's stream.

An event is reached when the GPU has finished all work queued before. Between two events around a
part that queues nothing, such as waiting for a batch, the GPU is idle as long as the host keeps it
waiting. If work is still queued, both events are reached at the same time.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from .step_ledger import Mark


def make_event_recorder() -> Any:
    """Returns a function that records an event on the current stream, or None if no GPU is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or not torch.cuda.is_available():
        return None

    def record() -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    return record


def gpu_seconds(marks: list[Mark]) -> dict[str, float]:
    """Returns seconds by part for a step whose events are reached. The first mark starts the step."""
    out: dict[str, float] = {}
    for (_, before), (part, after) in itertools.pairwise(marks):
        out[part] = out.get(part, 0.0) + before.elapsed_time(after) / 1e3
    return out


def synchronize() -> None:
    """Waits for all recorded events."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and torch.cuda.is_available():
        torch.cuda.synchronize()
