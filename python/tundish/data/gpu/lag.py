"""Batches that a GPU's loop was given and may not have come to yet, and how long it waited for them.

Nobody waits for the GPU to know that: a wait is counted when the loop's stream has passed it. Only the
loop's thread asks, and not while it records a graph, which a question from elsewhere would spoil.
"""

from __future__ import annotations

import threading
import time
from typing import Any

MOST = 16  # batches; otherwise memory would grow with the loop's lead


class GpuLag:
    """What is assigned in one line without a call is never half done when Ctrl-C comes."""

    def __init__(self) -> None:
        self._events: tuple[tuple[Any, Any], ...] = ()  # of the loop's stream, around its wait
        self._wait_s = 0.0
        self._lock = threading.Lock()  # while waits are counted: several threads may iterate
        self._thread = 0  # the loop's
        self._window: tuple[float, float] | None = None  # its begin, and what had been waited then

    def hand_over(self, stream: Any, ready: Any) -> None:
        """The loop's stream waits for `ready`."""
        import torch

        before = torch.cuda.Event(enable_timing=True)
        before.record(stream)
        stream.wait_event(ready)
        passed = torch.cuda.Event(enable_timing=True)
        passed.record(stream)
        self._thread = threading.get_ident()
        if self._window is None:
            self._window = (time.monotonic(), 0.0)
        events = (*self._events, (before, passed))
        self._events = events

    def keep_close(self) -> None:
        """Waits for the GPU when too many batches are behind."""
        self._poll_completed()
        events = self._events
        if len(events) > MOST:
            events[0][1].synchronize()
            self._poll_completed()

    def stats(self, reset: bool) -> dict[str, float]:
        """docs/loader-performance.md lists the keys."""
        import torch

        if threading.get_ident() == self._thread and not torch.cuda.is_current_stream_capturing():
            self._poll_completed()
        now, wait_s = time.monotonic(), self._wait_s
        begin, before = self._window or (now, wait_s)
        if reset and self._window is not None:
            self._window = (now, wait_s)
        share = min(1.0, (wait_s - before) / max(now - begin, 1e-9))
        return {"data/gpu_wait_s": wait_s, "data/gpu_wait_share": share}

    def _poll_completed(self) -> None:
        """Counts the waits that the stream has passed."""
        with self._lock:
            for before, passed in self._events:
                if not passed.query():
                    return
                wait_s = self._wait_s + before.elapsed_time(passed) / 1e3
                self._events, self._wait_s = self._events[1:], wait_s
