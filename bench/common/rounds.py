"""Measures small differences: contestants take turns, and the median ratio has a 95 % interval."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # rows.py imports tundish; bench/monitoring/one.py measures another version
    from .rows import Rows


@dataclass(frozen=True)
class Cost:
    wall_s: float  # wall time per image
    cpu_s: float  # CPU time per image, over all threads of the process


@dataclass(frozen=True)
class Interval:
    median: float
    low: float
    high: float

    def percent(self) -> str:
        """Formats the ratios as percentages above 1."""
        middle, low, high = (100 * (ratio - 1) for ratio in (self.median, self.low, self.high))
        return f"{middle:+.2f} % ({low:+.2f} to {high:+.2f})"


def interval(values: Iterable[float]) -> Interval:
    """Returns the median and its 95 % interval, whose ends are two of the values.

    Uses the sign test, which assumes nothing about the distribution. Returns the full range if there
    are fewer than six values.
    """
    ordered = sorted(values)
    count, middle = len(ordered), len(ordered) // 2
    median = (ordered[middle] + ordered[~middle]) / 2
    out, tail = (
        0,
        1.0,
    )  # how many values to drop at each end, and in how many of 2^count cases that is wrong
    while out < middle and 2 * (tail + math.comb(count, out + 1)) / 2**count <= 0.05:
        out += 1
        tail += math.comb(count, out)
    return Interval(median, ordered[out], ordered[~out])


def measure(batches: Iterable[int], images: int) -> Cost:
    """Measures `images` images, beginning after the first batch. `batches` yields batch sizes."""
    done, wall, cpu = -1, 0.0, 0.0
    for size in batches:
        if done < 0:
            done, wall, cpu = 0, time.perf_counter(), time.process_time()
            continue
        done += size
        if done >= images:
            break
    return Cost((time.perf_counter() - wall) / done, (time.process_time() - cpu) / done)


def take_turns(
    names: Sequence[str], rounds: int, run: Callable[[str], Cost]
) -> dict[str, list[Cost]]:
    """Runs every contestant once per round. Each round starts with another contestant.

    A warm-up round, which does not count, comes first.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in [*names[turn:], *names[:turn]]:
            cost = run(name)
            if number > 0:
                costs[name].append(cost)
    return costs


def add_overhead(
    rows: Rows, name: str, taken: Sequence[Cost], bare: Sequence[Cost], **more: Any
) -> list[str]:
    """Adds rows for the cost of `taken` relative to `bare`, in wall time and in CPU time.

    Compares the two within each round. Returns the formatted results.
    """
    shown = []
    for metric, member in (("overhead", "wall_s"), ("cpu overhead", "cpu_s")):
        pairs = zip(taken, bare, strict=True)
        values = [getattr(one, member) / getattr(other, member) for one, other in pairs]
        sure = interval(values)
        between = {"low": round(sure.low, 5), "high": round(sure.high, 5)}
        rows.add(name, metric, values, "x", **between, **more)
        shown.append(sure.percent())
    return shown
