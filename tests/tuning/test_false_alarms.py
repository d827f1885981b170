"""How often does a tuning run find a gain where there is none?

`bench/tune/twins.py` recorded four processes that ran the same step, on a GPU and its host. A
simulated run gives every trial the turns of a random process, starting at a random round. A plan
that keeps anything is a false alarm.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tundish.tuning.job import JobSource
from tundish.tuning.search.gates import Gates
from tundish.tuning.search.search import Search
from tundish.tuning.search.variants import JobFacts
from tundish.tuning.trials.paired_times import TimedTurn, is_host_bound
from tundish.tuning.tricks import TRICKS

from .test_search import FakePool

RESULTS = Path(__file__).parents[2] / "bench/results/tune_twins.json"
CASES: dict[str, Any] = json.loads(RESULTS.read_text())["cases"]
RUNS = 300


class Recorded(FakePool):
    """A pool in which every trial has the turns of a recorded process."""

    def __init__(self, case: dict[str, Any], seed: int, gain: float = 1.0) -> None:
        super().__init__(lambda tricks: 1.0, random=random.Random(seed))
        self.case, self.gain = case, gain
        self.process: dict[str, int] = {}

    def measure(self, names: Sequence[str], rounds: int = 0) -> dict[str, list[TimedTurn]]:
        self.timed.append(list(names))
        count = rounds or self.rounds
        turns = self.drawn(names, count)
        if not rounds and any(map(is_host_bound, turns.values())):
            turns = self.drawn(names, 10)
        return turns

    def drawn(self, names: Sequence[str], count: int) -> dict[str, list[TimedTurn]]:
        recorded = len(self.case["ms"][0])
        first = self.random.randrange(recorded)
        found = {}
        for name in names:
            mine = self.process.setdefault(name, self.random.randrange(len(self.case["ms"])))
            ms, host = self.case["ms"][mine], self.case["host_ms"][mine]
            places = [(first + i) % recorded for i in range(count)]
            factor = self.gain if "bf16" in self.tricks.get(name, ()) else 1.0
            found[name] = [TimedTurn(ms[i] / factor, host[i] / factor) for i in places]
        return found


def plan_of(case: dict[str, Any], seed: int, gain: float = 1.0, quick: bool = False) -> set[str]:
    pool: Any = Recorded(case, seed, gain)
    known = {kind.name: "" for kind in TRICKS}
    facts = JobFacts(True, known)
    search = Search(pool, Gates(JobSource(), 0), facts, time.monotonic() + 1e6, quick)
    search.run()
    return {trick.name for trick in search.winner}


def test_there_are_turns_that_the_host_limits_and_turns_that_the_gpu_limits() -> None:
    shares = [sum(case["host_ms"][0]) / sum(case["ms"][0]) for case in CASES.values()]
    assert max(shares) > 0.95
    assert min(shares) < 0.5
    assert all(len(case["ms"]) >= 4 and len(case["ms"][0]) >= 25 for case in CASES.values())


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", CASES)
def test_fewer_than_one_run_in_a_hundred_finds_a_gain_where_there_is_none(
    name: str, quick: bool
) -> None:
    alarms = sum(bool(plan_of(CASES[name], seed, quick=quick)) for seed in range(RUNS))
    assert alarms < RUNS / 100, f"{alarms} of {RUNS}"


@pytest.mark.parametrize("name", CASES)
def test_a_gain_of_a_half_is_found_in_nearly_every_run(name: str) -> None:
    assert sum("bf16" in plan_of(CASES[name], seed, gain=1.5) for seed in range(100)) >= 95
