"""How much of the CPUs other processes use while something is measured."""

from __future__ import annotations

import os
import time
from pathlib import Path


def busy_seconds(stat: str) -> float:
    """Of all CPUs since the start, from the text of /proc/stat; what a host took from us counts too."""
    user, nice, system, _idle, _wait, irq, soft_irq, stolen = map(int, stat.split()[1:9])
    return (user + nice + system + irq + soft_irq + stolen) / os.sysconf("SC_CLK_TCK")


class Others:
    """Begins when it is made."""

    def __init__(self) -> None:
        self._start = self._now()

    def _now(self) -> tuple[float, float, float]:
        all_of_them = busy_seconds(Path("/proc/stat").read_text())
        return time.perf_counter(), all_of_them, time.process_time()

    def share(self) -> float:
        """Of all CPUs, 0 to 1, since the beginning."""
        wall, everyone, own = (b - a for a, b in zip(self._start, self._now(), strict=True))
        return max(0.0, everyone - own) / (wall * (os.cpu_count() or 1))
