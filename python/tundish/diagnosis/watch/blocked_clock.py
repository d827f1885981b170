"""How long a thread was blocked: neither running nor waiting for a free CPU."""

from __future__ import annotations

import threading
import time
from typing import Any


class BlockedClock:
    """Wall seconds and blocked seconds of this thread."""

    def __init__(self) -> None:
        path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        try:
            self._file: Any = open(path, "rb", buffering=0)  # noqa: SIM115
        except OSError:
            self._file = None

    def now(self) -> tuple[float, float]:
        """(wall, blocked), both from some beginning."""
        wall = time.perf_counter()
        if self._file is None:
            return wall, wall - time.thread_time()
        self._file.seek(0)
        ran, waited = self._file.read().split()[:2]
        return wall, wall - (int(ran) + int(waited)) / 1e9

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
