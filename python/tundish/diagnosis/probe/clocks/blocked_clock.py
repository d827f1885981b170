"""How long a thread was blocked: neither running nor waiting for a free CPU."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import Any


class BlockedClock:
    """Wall seconds and blocked seconds of the thread that makes it and asks it."""

    def __init__(self) -> None:
        path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        try:
            self._file: Any = open(path, "rb", buffering=0)  # noqa: SIM115
        except OSError:
            self._file = None

    def now(self) -> tuple[float, float]:
        """(wall, blocked), both from some beginning."""
        wall, waited = self._read()
        return wall, wall - time.thread_time() - waited

    def own(self) -> tuple[float, float]:
        """(own, blocked), both from some beginning. Own: wall without the time that the thread waited for a CPU which
        others used. They take a CPU for milliseconds, wherever the thread is: in a function of a microsecond, too."""
        wall, waited = self._read()
        own = wall - waited
        return own, own - time.thread_time()

    def _read(self) -> tuple[float, float]:
        """Wall seconds, and those that the thread waited for a free CPU."""
        wall = time.perf_counter()
        if self._file is None:
            return wall, 0.0
        self._file.seek(0)
        # The first number, the time that it ran, is up to a tick of the kernel late (4 ms).
        return wall, int(self._file.read().split()[1]) / 1e9

    def read_s(self) -> float:
        """What a call of own() takes, measured now."""
        calls = [self.own()[0] for _ in range(50)]
        return max(0.0, min(after - before for before, after in pairwise(calls)))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
