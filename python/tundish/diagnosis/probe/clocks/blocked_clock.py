"""Measures how long a thread is blocked: neither running nor waiting for a free CPU."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import Any


class BlockedClock:
    """Measures wall time and blocked time of the current thread, which must also create the clock."""

    def __init__(self) -> None:
        path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        try:
            self._file: Any = open(path, "rb", buffering=0)  # noqa: SIM115
        except OSError:
            self._file = None

    def now(self) -> tuple[float, float]:
        """Returns (wall, blocked) seconds since an arbitrary start."""
        wall, waited = self._read()
        return wall, wall - time.thread_time() - waited

    def own(self) -> tuple[float, float]:
        """Returns (own, blocked) seconds since an arbitrary start.

        Own time is wall time without the waits for a CPU that other threads use. Such waits take
        milliseconds and can hit any function, even one that runs for a microsecond.
        """
        wall, waited = self._read()
        own = wall - waited
        return own, own - time.thread_time()

    def _read(self) -> tuple[float, float]:
        """Returns wall seconds and the seconds spent waiting for a free CPU."""
        wall = time.perf_counter()
        if self._file is None:
            return wall, 0.0
        self._file.seek(0)
        # The first number in the file, the run time, lags by up to one kernel tick (4 ms).
        return wall, int(self._file.read().split()[1]) / 1e9

    def measure_read_s(self) -> float:
        """Measures and returns the duration of one own() call."""
        calls = [self.own()[0] for _ in range(50)]
        return max(0.0, min(after - before for before, after in pairwise(calls)))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
