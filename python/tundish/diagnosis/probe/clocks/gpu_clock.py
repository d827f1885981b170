"""Measures the GPU time of each part of a step with CUDA events on the loop's stream.

The GPU reaches an event when it has finished all work queued before. Consider two events around a
part that queues no work, such as waiting for a batch. The time between them is the time that the
GPU is idle. If earlier work is still running when the part ends, the time is zero.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from .step_ledger import Mark


def make_event_recorder() -> Any:
    """Returns a function that records an event on the current stream. Returns None if no GPU is used."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or not torch.cuda.is_available():
        return None

    def record() -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    return record


def gpu_seconds(marks: list[Mark]) -> dict[str, float]:
    """Returns the seconds of each part of a step. The GPU must have reached all events.

    The first mark is the start of the step.
    """
    out: dict[str, float] = {}
    for (_, before), (part, after) in itertools.pairwise(marks):
        out[part] = out.get(part, 0.0) + before.elapsed_time(after) / 1e3
    return out


def synchronize() -> None:
    """Waits until the GPU has reached all recorded events."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and torch.cuda.is_available():
        torch.cuda.synchronize()
