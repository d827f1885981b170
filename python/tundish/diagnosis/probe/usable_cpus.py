"""How many CPUs this process may use: its affinity, and the quota of its control group."""

from __future__ import annotations

import math
import os

_QUOTAS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def usable_cpus() -> int:
    """At least one."""
    count = len(os.sched_getaffinity(0))
    for files in _QUOTAS:
        quota = _quota(files)
        if quota is not None:
            count = min(count, max(1, math.floor(quota + 0.5)))
    return count


def _quota(files: tuple[str, ...]) -> float | None:
    """CPUs; None where there is no quota."""
    words: list[str] = []
    try:
        for file in files:
            with open(file, encoding="ascii") as opened:
                words += opened.read().split()
        quota, period = int(words[0]), int(words[1])
    except (OSError, ValueError, IndexError):  # "max", or no control group
        return None
    return quota / period if quota > 0 and period > 0 else None
