"""The part of a timeline that one process writes. Times are seconds of CLOCK_MONOTONIC."""

from __future__ import annotations

from dataclasses import dataclass

from ..clocks.timeline_clocks import ClockPair

VERSION = 1


@dataclass(frozen=True)
class RecordedStep:
    number: int
    begin: float
    end: float


@dataclass(frozen=True)
class RecordedSpan:
    """A part of a step, such as "forward"."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class TimelinePart:
    """Steps and parts of steps. `clocks`: readings at begin and end; `loaders`: trace files."""

    pid: int
    rank: int
    world: int
    clocks: list[ClockPair]
    steps: list[RecordedStep]
    spans: list[RecordedSpan]
    dropped: int
    loaders: list[str]
    version: int = VERSION
