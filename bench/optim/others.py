"""Measures how much CPU time other processes use during a measurement."""

from __future__ import annotations

import os
import time
from pathlib import Path


def busy_seconds(stat: str) -> float:
    """Returns the busy seconds of all CPUs since boot, from /proc/stat. Includes stolen time."""
    user, nice, system, _idle, _wait, irq, soft_irq, stolen = map(int, stat.split()[1:9])
    return (user + nice + system + irq + soft_irq + stolen) / os.sysconf("SC_CLK_TCK")


class Others:
    """Measures other processes, beginning when the object is created."""

    def __init__(self) -> None:
        self._start = self._now()

    def _now(self) -> tuple[float, float, float]:
        all_of_them = busy_seconds(Path("/proc/stat").read_text())
        return time.perf_counter(), all_of_them, time.process_time()

    def share(self) -> float:
        """Returns the share of all CPUs that other processes have used since the start, from 0 to 1."""
        wall, everyone, own = (b - a for a, b in zip(self._start, self._now(), strict=True))
        return max(0.0, everyone - own) / (wall * (os.cpu_count() or 1))
