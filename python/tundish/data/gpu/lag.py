"""Tracks batches that the GPU may not have reached yet, and how long the training loop's stream waited for them.

Tracking itself never waits for the GPU: a wait is counted once the stream has passed it. Only the loop's thread
queries events, and never during a CUDA graph capture, because a query would break the capture.
"""

from __future__ import annotations

import threading
import time
from typing import Any

MOST = 16  # maximum number of tracked batches; otherwise memory would grow with the loop's lead over the GPU


class GpuLag:
    """Events around the waits of the loop's stream, and the sum of the waits.

    Related attributes are assigned in one statement without a call, which Ctrl-C never leaves half done.
    """

    def __init__(self) -> None:
        self._events: tuple[tuple[Any, Any], ...] = ()  # (before, after) each wait of the stream
        self._wait_s = 0.0
        self._lock = threading.Lock()  # held to count waits, because several threads may iterate
        self._thread = 0  # id of the loop's thread
        self._window: tuple[float, float] | None = (
            None  # start time of the statistics window, and the seconds waited before it
        )

    def wait_for_batch(self, stream: Any, ready: Any) -> None:
        """Makes the loop's stream wait for `ready`."""
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

    def limit_lead(self) -> None:
        """Waits for the GPU if it is too many batches behind the loop."""
        self._poll_completed()
        events = self._events
        if len(events) > MOST:
            events[0][1].synchronize()
            self._poll_completed()

    def stats(self, reset: bool) -> dict[str, float]:
        """Returns the statistics documented in docs/loader-performance.md."""
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
