"""Batches that a GPU's loop was given and may not have come to yet, and how long it waited for them.

Nobody waits for the GPU to know that: a wait is counted when the loop's stream has passed it.
"""

from __future__ import annotations

import time
from typing import Any

MOST = 16  # batches; otherwise memory would grow with the loop's lead


class Behind:
    """What is assigned in one line without a call is never half done when Ctrl-C comes."""

    def __init__(self) -> None:
        self._events: tuple[tuple[Any, Any], ...] = ()  # of the loop's stream, around its wait
        self._decoded = 0
        self._wait_s = 0.0
        self._window = (time.monotonic(), 0.0)  # when it began, and what had been waited then

    def hand_over(self, stream: Any, ready: Any, decoded: int) -> None:
        """The loop's stream waits for `ready`. So many images were decoded by the GPU."""
        import torch

        before = torch.cuda.Event(enable_timing=True)
        before.record(stream)
        stream.wait_event(ready)
        passed = torch.cuda.Event(enable_timing=True)
        passed.record(stream)
        events, decoded = (*self._events, (before, passed)), self._decoded + decoded
        self._events, self._decoded = events, decoded

    def keep_close(self) -> None:
        """Waits for the GPU when too many batches are behind."""
        if len(self._events) > MOST:
            passed = self._events[0][1]
            if not passed.query():
                passed.synchronize()
        self._look(len(self._events) - MOST)

    def stats(self, reset: bool) -> dict[str, float]:
        """docs/seeing.md lists the keys."""
        self._look(len(self._events))
        now, (begin, before) = time.monotonic(), self._window
        out = {
            "data/gpu_wait_s": self._wait_s,
            "data/gpu_wait_share": min(1.0, (self._wait_s - before) / max(now - begin, 1e-9)),
            "data/gpu_decoded": self._decoded,
        }
        if reset:
            self._window = (now, self._wait_s)
        return out

    def _look(self, most: int) -> None:
        """Counts the oldest waits, those that the stream has passed."""
        for before, passed in self._events[: max(most, 0)]:
            if not passed.query():
                return
            wait_s = self._wait_s + before.elapsed_time(passed) / 1e3
            self._events, self._wait_s = self._events[1:], wait_s
