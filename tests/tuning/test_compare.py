"""The comparison of turns."""

from __future__ import annotations

import random

import pytest
from tundish.tuning.trials.paired_times import (
    TimedTurn,
    compare,
    deviation,
    is_host_bound,
    t_point,
)


def turns(
    ms: float, count: int, noise: float, draw: random.Random, host: float = 0.1
) -> list[TimedTurn]:
    values = [ms * draw.lognormvariate(0, noise) for _ in range(count)]
    return [TimedTurn(value, host * value) for value in values]


def test_a_clear_gain_is_faster() -> None:
    draw = random.Random(0)
    base, other, twin = (turns(ms, 5, 0.001, draw) for ms in (10, 5, 10))
    gain = compare(base, other, twin)
    assert gain.faster
    assert gain.gain == pytest.approx(2, rel=0.01)
    assert gain.low < gain.gain < gain.high
    assert compare(other, base, turns(5, 5, 0.001, draw)).slower


def test_a_gain_below_the_threshold_does_not_count() -> None:
    draw = random.Random(0)
    base, other, twin = (turns(ms, 5, 1e-5, draw) for ms in (10, 9.95, 10))
    assert not compare(base, other, twin).faster


def test_host_bound_steps_need_a_larger_gain() -> None:
    draw = random.Random(0)
    base, other, twin = (turns(ms, 10, 1e-5, draw, host=1.0) for ms in (10, 9.7, 10))
    assert is_host_bound(base)
    assert not compare(base, other, twin).faster
    quick = [turns(ms, 10, 1e-5, draw) for ms in (10, 9.7, 10)]
    assert compare(*quick).faster


def test_a_noisy_twin_raises_the_threshold() -> None:
    draw = random.Random(1)
    base, other = turns(10, 5, 1e-4, draw), turns(9.5, 5, 1e-4, draw)
    assert compare(base, other, turns(10, 5, 1e-4, draw)).faster
    assert not compare(base, other, turns(10, 5, 0.2, draw)).faster


@pytest.mark.parametrize("noise", [0.001, 0.02, 0.1])
def test_a_drift_of_the_machine_is_not_a_gain(noise: float) -> None:
    """A slowdown of all processes for some rounds cancels out."""
    draw = random.Random(2)
    slow = [1.0, 1.0, 3.0, 3.0, 1.0]
    rows = [
        [TimedTurn(t.ms * s, t.host_ms * s) for t, s in zip(turns(10, 5, noise, draw), slow)]
        for _ in range(3)
    ]
    assert not compare(*rows).faster


def test_deviation_and_t_points_have_known_values() -> None:
    assert deviation([1.0]) == float("inf")
    assert deviation([1.0, 3.0]) == pytest.approx(2**0.5)
    assert deviation([1.0] * 9 + [100.0]) == 0.0  # one outlier in ten turns
    assert t_point(1) == 12.71
    assert t_point(4) == 2.78
    assert t_point(99) == 1.96
