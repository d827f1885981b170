"""Counts the CPUs that this process may use, according to its affinity and its cgroup quota."""

from __future__ import annotations

import math
import os

_QUOTAS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def usable_cpus() -> int:
    """Returns the number of CPUs that this process may use, at least 1."""
    count = len(os.sched_getaffinity(0))
    for files in _QUOTAS:
        quota = _quota(files)
        if quota is not None:
            count = min(count, max(1, math.floor(quota + 0.5)))
    return count


def _quota(files: tuple[str, ...]) -> float | None:
    """Returns the cgroup's quota as a number of CPUs, or None without a quota."""
    values: list[str] = []
    try:
        for file in files:
            with open(file, encoding="ascii") as opened:
                values += opened.read().split()
        quota, period = int(values[0]), int(values[1])
    except (OSError, ValueError, IndexError):  # "max", or no cgroup
        return None
    return quota / period if quota > 0 and period > 0 else None
