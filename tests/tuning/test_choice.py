"""The choice among timed variants: the fastest or, of variants that are equally fast, the cheapest."""

from __future__ import annotations

import random

import pytest
from tundish.tuning.report.results import KEPT
from tundish.tuning.search.choice import choose, equally_fast, one_off_s
from tundish.tuning.search.variants import MeasuredVariant
from tundish.tuning.trials.paired_times import Gain, TimedTurn
from tundish.tuning.tricks.autocast import Bf16
from tundish.tuning.tricks.channels_last import ChannelsLast
from tundish.tuning.tricks.compile import Compile
from tundish.tuning.tricks.optimizer_kernels import FusedOptimizer

from .test_search import names, product, searched

PLAIN, LAYOUT = (Bf16(),), (ChannelsLast(), Bf16())
COMPILED = (Bf16(), Compile())


def timed(ms, once=0.0, peak=1000, noise=0.02):
    """Returns a variant timed against a baseline of 100 ms. The interval is about `noise` wide."""
    wobble = [1 - noise, 1 - noise / 2, 1, 1 + noise / 2, 1 + noise]
    base = [TimedTurn(100.0, 1.0)] * 5
    return MeasuredVariant([TimedTurn(ms * w, 1.0) for w in wobble], base, base, peak, once)


def test_variants_are_equally_fast_if_each_gain_is_in_the_others_interval():
    gains = [Gain(g, g - 0.1, g + 0.1, 1.01, 5) for g in (1.5, 1.55, 1.7)]
    assert equally_fast(gains[0], gains[1])
    assert not equally_fast(gains[0], gains[2])
    exact = Gain(1.55, 1.549, 1.551, 1.01, 5)
    assert not equally_fast(gains[0], exact)  # inside one interval only
    assert equally_fast(exact, Gain(1.553, 1.5529, 1.5531, 1.01, 5))  # 0.2 %


def test_the_fastest_wins_if_it_is_faster_beyond_the_noise():
    measured = {PLAIN: timed(60), COMPILED: timed(40, once=60, peak=9000)}
    assert choose(measured, measured) == COMPILED


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        ({}, {"once": 40, "peak": 500}),  # seconds count more than memory
        ({"once": 0.2}, {"once": 0.7, "peak": 1200}),  # less than a second is no difference
        ({"peak": 1010}, {"peak": 1000}),  # nor is 1 % of the memory: fewer tricks
    ],
)
def test_of_equals_the_cheaper_one_wins(plain, other):
    measured = {PLAIN: timed(50, **plain), LAYOUT: timed(49.7, **other)}
    assert equally_fast(*(found.gain for found in measured.values()))
    assert choose(measured, measured) == PLAIN


def test_of_equals_the_one_with_less_memory_wins_in_spite_of_more_tricks():
    measured = {PLAIN: timed(50, peak=2000), LAYOUT: timed(50.2, peak=1000)}
    assert choose(measured, measured) == LAYOUT


def test_a_compilation_that_was_cached_is_not_cheaper():
    measured = {COMPILED: timed(50, once=40), (ChannelsLast(), *COMPILED): timed(49.9, once=9)}
    assert one_off_s(measured, (ChannelsLast(), *COMPILED)) == 40
    assert choose(measured, measured) == COMPILED
    assert one_off_s(measured, PLAIN) == 0


@pytest.mark.parametrize("seed", range(8))
def test_a_search_does_not_compile_for_a_gain_within_the_noise(seed):
    def time_of(tricks):
        return 100.0 * (0.5 if "bf16" in tricks else 1) * (0.99 if "compile" in tricks else 1)

    search = searched(time_of, noise=0.03, random=random.Random(seed))
    assert "bf16" in names(search)
    assert "compile" not in names(search)


def test_a_plan_that_is_the_human_recipe_is_kept_once():
    """Both are timed in the fresh run; the times in the headline are those of the plan."""
    times = product(bf16=0.5, channels_last=0.8, compile=0.6, fused_optimizer=0.9)
    search = searched(times, cuda=False)
    assert search.winner == search.human_recipe()
    kept = [row for row in search.rows if row.verdict == KEPT]
    assert [row.label == "human recipe" for row in kept] == [False]


def test_the_human_recipe_is_the_plan_if_it_is_as_fast_and_needs_less_memory():
    def time_of(tricks):
        return 40.0 if {"bf16", "compile"} <= tricks else 60.0 if "bf16" in tricks else 100.0

    def memory_of(tricks):
        return (1 << 30) // (2 if {"channels_last", "fused_optimizer"} <= tricks else 1)

    search = searched(time_of, cuda=False, memory_of=memory_of)
    assert FusedOptimizer() in search.winner
    assert search.winner == search.human_recipe()
