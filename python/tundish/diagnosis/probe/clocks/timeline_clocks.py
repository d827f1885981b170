"""Converts between the two clocks of a timeline: Unix time (torch's profiler) and CLOCK_MONOTONIC."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

TRIES = 20


@dataclass(frozen=True)
class ClockPair:
    """One reading of both clocks.

    `offset_ns` is Unix time minus CLOCK_MONOTONIC. Its error is at most `width_ns`.
    """

    monotonic_ns: int
    offset_ns: int
    width_ns: int

    def as_json(self) -> dict[str, int]:
        return asdict(self)


def read_clocks() -> ClockPair:
    """Returns the most precise of several readings.

    A reading is imprecise if the thread is preempted between reading the two clocks.
    """
    best: ClockPair | None = None
    for _ in range(TRIES):
        before = time.monotonic_ns()
        unix = time.time_ns()
        after = time.monotonic_ns()
        middle = (before + after) // 2
        if best is None or after - before < best.width_ns:
            best = ClockPair(middle, unix - middle, after - before)
    assert best is not None
    return best


def to_monotonic_ns(unix_ns: int, begin: ClockPair, end: ClockPair) -> int:
    """Converts Unix time to CLOCK_MONOTONIC.

    Interpolates the offset linearly between two readings, because NTP may adjust the Unix clock.
    """
    guess = unix_ns - begin.offset_ns
    passed = end.monotonic_ns - begin.monotonic_ns
    if passed <= 0:
        return guess
    share = min(1.0, max(0.0, (guess - begin.monotonic_ns) / passed))
    return unix_ns - begin.offset_ns - round(share * (end.offset_ns - begin.offset_ns))


def error_ns(begin: ClockPair, end: ClockPair) -> int:
    """Returns an upper bound for the error of a converted time."""
    return max(begin.width_ns, end.width_ns) + abs(end.offset_ns - begin.offset_ns)
