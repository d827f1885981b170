"""Decides whether one step is faster than another, from times measured in alternating turns.

All variants take turns in rounds. A turn is compared with the baseline's turn in the same round, because a
temporary disturbance of the machine then affects both. The baseline also runs in a second process, the twin.
The twin's gain over the baseline is pure noise, so another gain counts only if it is clearly larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# The smallest gains that count. Host-bound steps vary more than the spread of their turns suggests. On
# recorded turns of equal steps, the GPU-bound threshold produced false gains in 2 of 100 runs, and the
# host-bound threshold in 2 to 3 of 1,000 (tests/tuning/test_false_alarms.py).
GPU_BOUND_THRESHOLD = 0.01
HOST_BOUND_THRESHOLD = 0.05
HOST_BOUND_SHARE = 0.95  # a step is host-bound if its host time exceeds this share of the step time
TWIN_SPREADS = 3.0

# The 97.5 % quantile of the t distribution, by degrees of freedom; 1.96 for many.
_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


@dataclass(frozen=True)
class TimedTurn:
    ms: float
    host_ms: float


@dataclass(frozen=True)
class Gain:
    """Speedup with its 95 % interval. A gain counts if it exceeds `threshold`."""

    gain: float
    low: float
    high: float
    threshold: float  # smallest gain that counts: 1.01 is one percent
    turns: int

    @property
    def faster(self) -> bool:
        return self.gain > self.threshold and self.low > 1.0

    @property
    def slower(self) -> bool:
        return self.gain < 1 / self.threshold and self.high < 1.0


def compare(
    base: Sequence[TimedTurn], other: Sequence[TimedTurn], twin: Sequence[TimedTurn]
) -> Gain:
    """Returns the speedup of `other` over `base`. All three arguments are turns of the same rounds."""
    logs = [math.log(a.ms / b.ms) for a, b in zip(base, other)]
    noise = [math.log(a.ms / b.ms) for a, b in zip(base, twin)]
    turns = len(logs)
    middle = median(logs)
    host_bound = is_host_bound(base) or is_host_bound(other)
    # A few turns can agree by chance, so the spread is never smaller than the twin's spread.
    spread = max(deviation(logs), deviation(noise))
    if host_bound:  # in host-bound steps, disturbed turns are common
        spread = max(spread, plain_deviation(logs), plain_deviation(noise))
    error = 1.2533 * spread / math.sqrt(turns)  # standard error of a median
    half = t_point(turns - 1) * error
    least = HOST_BOUND_THRESHOLD if host_bound else GPU_BOUND_THRESHOLD
    twin_error = 1.2533 * deviation(noise) / math.sqrt(turns)
    threshold = max(math.log1p(least), TWIN_SPREADS * twin_error, abs(median(noise)) + twin_error)
    if host_bound:
        threshold = max(threshold, TWIN_SPREADS * error)
    return Gain(
        math.exp(middle),
        math.exp(middle - half),
        math.exp(middle + half),
        math.exp(threshold),
        turns,
    )


def middle_ms(turns: Sequence[TimedTurn]) -> float:
    return median(turn.ms for turn in turns)


def is_host_bound(turns: Sequence[TimedTurn]) -> bool:
    """Returns whether launching a step takes the host about as long as running it takes the device."""
    return median(turn.host_ms / turn.ms for turn in turns) >= HOST_BOUND_SHARE


def deviation(values: Sequence[float]) -> float:
    """Returns the standard deviation. With five or more values, it is robust against a disturbed turn."""
    if len(values) < 5:
        return plain_deviation(values)
    middle = median(values)
    # The median deviation of few values is too small, by 1.8 / (n - 1) or more.
    return 1.4826 * median(abs(value - middle) for value in values) * (1 + 1.8 / (len(values) - 1))


def plain_deviation(values: Sequence[float]) -> float:
    if len(values) < 2:
        return math.inf
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def t_point(freedom: int) -> float:
    return _T[max(0, freedom - 1)] if freedom <= len(_T) else 1.96
