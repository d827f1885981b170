"""Chooses among timed variants: the fastest or, of variants that are equally fast, the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..trials.paired_times import Gain
from .rows import Variant
from .variants import MeasuredVariant

NOT_WORTH = 1.003  # a trick with a smaller gain is left out, because a simpler plan is better
# Costs that differ by less count as equal: seconds and share of the one-off time, share of the memory.
ONE_OFF_S, ONE_OFF_SHARE, MEMORY_SHARE = 1.0, 0.25, 0.02

Measured = Mapping[Variant, MeasuredVariant]


def equally_fast(one: Gain, other: Gain) -> bool:
    """Returns whether each gain lies in the other's 95 % interval, or both are the same but for 0.3 %."""
    if max(one.gain, other.gain) <= NOT_WORTH * min(one.gain, other.gain):
        return True
    return one.low <= other.gain <= one.high and other.low <= one.gain <= other.high


def choose(measured: Measured, variants: Iterable[Variant]) -> Variant:
    """Returns the fastest variant, or a variant that is equally fast and costs less.

    The first cost that differs decides: one-off seconds, peak memory, number of tricks.
    """
    gains = {variant: measured[variant].gain for variant in variants}
    fastest = max(gains, key=lambda variant: gains[variant].gain)
    near = [variant for variant in gains if equally_fast(gains[variant], gains[fastest])]
    near = _cheapest(near, lambda v: one_off_s(measured, v), ONE_OFF_S, ONE_OFF_SHARE)
    if all(measured[variant].peak_bytes is not None for variant in near):
        near = _cheapest(near, lambda v: measured[v].peak_bytes or 0, 0, MEMORY_SHARE)
    near = _cheapest(near, len, 0, 0)
    return max(near, key=lambda variant: gains[variant].gain)


def _cheapest(
    variants: Sequence[Variant], cost: Callable[[Variant], float], slack: float, share: float
) -> list[Variant]:
    least = min(map(cost, variants))
    return [v for v in variants if cost(v) <= least + max(slack, share * least)]


def one_off_s(measured: Measured, variant: Variant) -> float:
    """Returns the seconds of compilation and warm-up before the first step.

    The largest time of all variants with the same compilation counts, because torch's cache makes later
    compilations look cheap.
    """
    compilation = [trick for trick in variant if trick.name == "compile"]
    alike = [found for other, found in measured.items() if compilation and compilation[0] in other]
    own = [measured[variant]] if variant in measured else []
    return max((found.one_off_s for found in [*alike, *own]), default=0.0)
