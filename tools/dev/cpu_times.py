"""A pytest plugin that writes the CPU time and wall time of each test file and test, in seconds.

    .venv/bin/python -m pytest -q -p tools.dev.cpu_times tests/pixels     # writes build/log/cpu_times.tsv

CPU times are comparable even on a busy machine. They include this process, its descendants and the
processes that they waited for. The time of a fixture counts for the first test that requested it, and
the time of an import for its file.
"""

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

TARGET = Path(os.environ.get("TUNDISH_CPU_TIMES", "build/log/cpu_times.tsv"))
TICKS = os.sysconf("SC_CLK_TCK")
_begin = [0.0, 0.0]


def cpu_seconds_below(top: int) -> float:
    """Returns the CPU seconds of a process and its descendants, including children that have ended."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # the process has just ended
            continue
        below.setdefault(int(fields[1]), []).append(int(name))
        ticks[int(name)] = sum(map(int, fields[11:15]))
    found = [top]
    for process in found:
        found += below.get(process, [])
    return sum(ticks.get(process, 0) for process in found) / TICKS


def _charge(name: str | None) -> None:
    """Adds the time since the last call to this test or file. Excludes the time of measuring itself."""
    cpu, wall = cpu_seconds_below(os.getpid()), time.monotonic()
    if name:
        with TARGET.open("a") as file:
            file.write(f"{cpu - _begin[0]:.3f}\t{wall - _begin[1]:.3f}\t{name}\n")
    _begin[:] = cpu, time.monotonic()


def pytest_sessionstart() -> None:
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    if not isinstance(collector, pytest.Module):
        return (yield)
    _charge(None)
    try:
        return (yield)
    finally:
        _charge(collector.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    if not _begin[0]:
        _charge(None)
    try:
        return (yield)
    finally:
        _charge(item.nodeid)
