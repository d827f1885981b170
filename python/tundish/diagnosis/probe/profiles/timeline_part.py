"""The part of a timeline that one process writes. Times are in seconds of CLOCK_MONOTONIC."""

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
    """The time span of a part of a step, such as "forward"."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class TimelinePart:
    """The steps of one process and their parts.

    `clocks` are clock readings at begin and end. `loaders` are trace files of tundish.Loaders.
    """

    pid: int
    rank: int
    world: int
    clocks: list[ClockPair]
    steps: list[RecordedStep]
    spans: list[RecordedSpan]
    dropped: int
    loaders: list[str]
    version: int = VERSION
