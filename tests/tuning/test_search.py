"""The search with a fake pool: times come from a table, so the result is predictable."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tundish.tuning.job import JobSource
from tundish.tuning.report.results import IMPOSSIBLE, KEPT, REJECTED
from tundish.tuning.search.confirmation import BASELINE, HUMAN, TWIN
from tundish.tuning.search.gates import Gates
from tundish.tuning.search.search import Search
from tundish.tuning.search.variants import BaselineFailed, JobFacts
from tundish.tuning.trials.paired_times import TimedTurn
from tundish.tuning.trials.pool import TrialOutcome
from tundish.tuning.trials.trial import TrialFailed
from tundish.tuning.tricks import TRICKS, Trick
from tundish.tuning.tricks.channels_last import ChannelsLast
from tundish.tuning.tricks.compile import Compile
from tundish.tuning.tricks.optimizer_kernels import FusedOptimizer

Time = Callable[[set[str]], float]


@dataclass
class Checked:
    passed: bool
    sentence: str


@dataclass
class FakePool:
    """Step times come from `time_of` plus noise; gates pass unless `broken` contains the trick."""

    time_of: Time
    noise: float = 0.0
    host_bound: bool = False
    broken: set[str] = field(default_factory=set)
    failing: dict[str, TrialOutcome] = field(default_factory=dict)  # outcome by trick
    wrong_losses: set[str] = field(default_factory=set)
    memory_of: Callable[[set[str]], int] = lambda tricks: 1 << 30
    blocks: tuple[str, ...] | None = ("layer1",)
    asked: list[Any] = field(default_factory=list)
    most_preparing: int = 1
    rounds: int = 5
    memory_limit: int = 0
    tricks: dict[str, set[str]] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)  # tricks whose trials are never ready in time
    ended: set[str] = field(default_factory=set)
    random: random.Random = field(default_factory=lambda: random.Random(0))
    timed: list[list[str]] = field(default_factory=list)

    def start(
        self,
        name: str,
        tricks: Sequence[Trick],
        nudge: int = 0,
        need_bytes: int = 0,
        steps: int = 0,
    ) -> None:
        self.tricks[name] = {trick.name for trick in tricks}
        self.ended.discard(name)

    def start_call(self, name: str, function: str, **words: Any) -> None:
        self.calls[name] = [one["name"] for one in words.get("tricks", [])]
        self.functions[name] = function

    def is_ready_by(self, name: str, limit: float) -> bool:
        return not self.tricks.get(name, set()) & self.late

    def outcome(self, name: str) -> TrialOutcome:
        for trick in self.tricks[name] | ({"baseline"} if name == BASELINE else set()):
            if trick in self.failing:
                return self.failing[trick]
        wrong = bool(self.tricks[name] & self.wrong_losses)
        losses = [2.0 + 0.5 * wrong + 1e-4 * self.random.random() - 0.01 * i for i in range(30)]
        return TrialOutcome(
            losses=losses, step_ms=self.time_of(self.tricks[name]), one_off_s=5.0, graphs=1
        )

    def result(self, name: str) -> Any:
        found = [
            Checked(
                one not in self.broken,
                f"gradient of fc.weight: {one}" if one in self.broken else "within fp32 noise",
            )
            for one in self.calls[name]
        ]
        return found if self.functions[name].endswith("check_each") else found[0]

    def measure(self, names: Sequence[str], rounds: int = 0) -> dict[str, list[TimedTurn]]:
        names = [name for name in names if not self.outcome(name).failed]
        self.timed.append(list(names))
        turns: dict[str, list[TimedTurn]] = {name: [] for name in names}
        for _ in range(rounds or (10 if self.host_bound else self.rounds)):
            for name in names:
                assert name not in self.ended
                ms = self.time_of(self.tricks[name]) * self.random.lognormvariate(0, self.noise)
                turns[name].append(TimedTurn(ms, ms if self.host_bound else 0.1 * ms))
        return turns

    def memory(self, name: str) -> int | None:
        return self.memory_of(self.tricks[name])

    def call(self, name: str, function: str, **words: Any) -> Any:
        self.asked.append(words)
        return self.blocks

    def end(self, *names: str) -> None:
        self.ended |= set(names)

    def alive(self) -> list[str]:
        return [name for name in self.tricks if name not in self.ended]


def searched(
    time_of: Time,
    cuda: bool = True,
    quick: bool = False,
    obstacles: dict[str, str] | None = None,
    seconds: float = 1e6,
    target_bytes: int = 0,
    **words: Any,
) -> Search:
    pool: Any = FakePool(time_of, **words)
    known = {kind.name: "" for kind in TRICKS} | (obstacles or {})
    if not cuda:
        known |= dict.fromkeys(("tf32", "fp16", "cuda_graph", "cudnn_benchmark"), "needs a GPU")
    known["checkpointing"] = ""
    search = Search(
        pool, Gates(JobSource(), 0), JobFacts(cuda, known), time.monotonic() + seconds, quick
    )
    search.target_bytes = target_bytes
    search.run()
    return search


def names(search: Search) -> set[str]:
    return {trick.name for trick in search.winner}


def product(**factors: float) -> Time:
    """Multiplies the time by the factor of each trick."""

    def time_of(tricks: set[str]) -> float:
        ms = 100.0
        for trick in tricks:
            ms *= factors.get(trick, 1.0)
        return ms

    return time_of


def test_a_trick_that_pays_is_kept_and_one_that_does_not_is_not() -> None:
    search = searched(product(bf16=0.4, channels_last=1.3, compile=0.9, cudnn_benchmark=1.1))
    assert names(search) == {"bf16", "compile"}
    assert search.gains[BASELINE].gain == pytest.approx(1 / 0.36, rel=1e-3)
    kept = [row for row in search.rows if row.verdict == KEPT]
    assert [row.phase for row in kept] == ["confirm"]


def resnet50(tricks: set[str]) -> float:
    """Measured on an H200: a graph pays only under a compiled step; fp16 wins in one layout."""
    if tricks & {"bf16", "fp16"}:
        last = "channels_last" in tricks
        ms = (30.5 if last else 55.0) if "bf16" in tricks else (33.1 if last else 47.0)
    else:
        ms = 60.2 if "tf32" in tricks else 145.0
    device = ms * (0.64 if "compile" in tricks else 1.0)
    host = 20.0 if "cuda_graph" in tricks else 28.6
    return max(device, host) if "cuda_graph" not in tricks else device


def test_interactions_are_found() -> None:
    search = searched(resnet50)
    assert {"bf16", "channels_last", "compile", "cuda_graph"} <= names(search)
    assert "fp16" not in names(search)
    assert search.gains[BASELINE].gain == pytest.approx(145 / 19.5, rel=0.01)
    assert search.gains[HUMAN].gain > 1.4


def test_a_model_that_nothing_helps_keeps_its_step() -> None:
    search = searched(lambda tricks: 10.0 + len(tricks))
    assert search.winner == ()
    assert not [row for row in search.rows if row.verdict == KEPT and row.tricks]


def test_a_broken_trick_is_rejected_by_name() -> None:
    search = searched(product(channels_last=0.5, bf16=0.6), broken={"channels_last"})
    assert names(search) == {"bf16"}
    rejected = [row for row in search.rows if row.verdict == REJECTED]
    assert rejected
    assert all("gradient of fc.weight: channels_last" in row.numerics for row in rejected)


def test_a_loss_outside_the_band_is_rejected() -> None:
    search = searched(product(bf16=0.5, tf32=0.8), wrong_losses={"bf16"})
    assert names(search) == {"tf32"}


def test_a_step_that_cannot_be_captured_goes_on_without_a_graph() -> None:
    cause = TrialOutcome("train.py:7: float(y.sum()): not permitted when capturing", "capture")
    search = searched(product(bf16=0.5, compile=0.8), failing={"cuda_graph": cause})
    assert names(search) == {"bf16", "compile"}
    rows = [row for row in search.rows if row.verdict == IMPOSSIBLE]
    assert "train.py:7" in rows[0].numerics


def test_out_of_memory_in_one_trial_is_not_the_end() -> None:
    search = searched(
        product(bf16=0.5, tf32=0.9),
        failing={"tf32": TrialOutcome("CUDA out of memory", "out of memory")},
    )
    assert names(search) == {"bf16"}


def test_a_failing_baseline_ends_the_search() -> None:
    with pytest.raises(BaselineFailed, match="shapes"):
        searched(
            product(), failing={"baseline": TrialOutcome("shapes cannot be multiplied", "error")}
        )


def test_the_usual_recipe_wins_if_it_is_faster() -> None:
    """A search that is cut short still returns the usual recipe."""
    search = searched(product(bf16=0.5, channels_last=0.9, compile=0.5), seconds=60)
    assert names(search) >= {"bf16", "compile"}


def test_a_search_on_a_cpu_finds_cpu_tricks() -> None:
    search = searched(
        product(channels_last=0.7, bf16=3.0, fused_optimizer=0.9, compile=1.2), cuda=False
    )
    assert names(search) == {"channels_last", "fused_optimizer"}


def test_quick_times_fewer_candidates() -> None:
    whole, quick = (searched(resnet50, quick=quick) for quick in (False, True))
    assert names(quick) >= {"bf16", "channels_last", "compile", "cuda_graph"}
    assert len(quick.rows) < 0.6 * len(whole.rows)


@pytest.mark.parametrize("seed", range(10))
def test_noise_does_not_make_a_plan(seed: int) -> None:
    search = searched(product(), noise=0.05, host_bound=True, random=random.Random(seed))
    assert search.winner == ()


@pytest.mark.parametrize("seed", range(10))
def test_noise_does_not_hide_a_gain_of_three(seed: int) -> None:
    search = searched(product(bf16=1 / 3), noise=0.1, host_bound=True, random=random.Random(seed))
    assert "bf16" in names(search)


def test_baseline_and_twin_take_part_in_every_round() -> None:
    search = searched(resnet50)
    pool: Any = search.pool
    assert all(group[:2] == [BASELINE, TWIN] for group in pool.timed)


def halved(tricks: set[str]) -> int:
    """Recomputation halves the memory, and bf16 saves a quarter."""
    return int(
        (1 << 30) * (0.75 if "bf16" in tricks else 1) * (0.5 if "checkpointing" in tricks else 1)
    )


def test_a_memory_target_costs_time() -> None:
    times = product(bf16=0.5, checkpointing=1.3)
    search = searched(times, memory_of=halved, target_bytes=500 << 20)
    assert names(search) == {"bf16", "checkpointing"}
    assert search.gains[BASELINE].gain == pytest.approx(1 / 0.65, rel=1e-3)
    assert not search.notes


def test_a_memory_target_that_holds_anyway_costs_nothing() -> None:
    search = searched(product(bf16=0.5), memory_of=halved, target_bytes=900 << 20)
    assert names(search) == {"bf16"}


@pytest.mark.parametrize("blocks", [("layer1",), (), None])
def test_an_unreachable_memory_target_is_reported(blocks: Any) -> None:
    search = searched(product(bf16=0.5), memory_of=halved, target_bytes=100 << 20, blocks=blocks)
    assert any("memory target was not reached" in note for note in search.notes)


def test_late_trials_are_omitted_and_reported() -> None:
    search = searched(product(bf16=0.5, compile=0.5), quick=True, late={"compile"})
    assert "bf16" in names(search)
    assert "compile" not in names(search)
    assert HUMAN not in search.gains
    assert any("no time left" in note and "torch.compile" in note for note in search.notes)
    assert any("no time left to compare with human recipe" in note for note in search.notes)


def test_the_winner_is_timed_in_a_fresh_process_unless_quick() -> None:
    for quick in (False, True):
        search = searched(resnet50, quick=quick)
        pool: Any = search.pool
        last = pool.timed[-1]
        assert ("fresh winner" in last) is not quick
        assert search.name(search.human_recipe()) in last
        assert "fresh strict fp32" in last


def test_a_plan_whose_numbers_are_wrong_in_the_fresh_run_is_dropped() -> None:
    class WrongAtLast(FakePool):
        def outcome(self, name: str) -> TrialOutcome:
            found = super().outcome(name)
            shift = 1.0 if name == "fresh winner" else 0.0
            found.losses = [loss + shift for loss in found.losses]
            return found

    pool: Any = WrongAtLast(product(bf16=0.5))
    known = {kind.name: "" for kind in TRICKS}
    search = Search(
        pool, Gates(JobSource(), 0), JobFacts(True, known), time.monotonic() + 1e6, False
    )
    search.run()
    assert names(search) == set()
    assert search.gains == {}
    assert any("wrong numbers in a fresh run" in note for note in search.notes)
    row = next(row for row in search.rows if row.phase == "confirm" and row.verdict == REJECTED)
    assert {"name": "bf16"} in row.tricks


def test_checks_of_one_process_that_fails_are_done_alone() -> None:
    class Failing(FakePool):
        def result(self, name: str) -> Any:
            if self.functions[name].endswith("check_each"):
                raise TrialFailed("its process ended with SIGKILL", "died")
            return super().result(name)

    pool: Any = Failing(product())
    gates = Gates(JobSource(), 0)
    fused, last = FusedOptimizer(), ChannelsLast()
    gates.start(pool, [fused, last, Compile()])
    assert [name for name in pool.calls if "," in name and "channels_last" in name]
    pool.start(BASELINE, ())
    for equal in (TWIN, "nudge 1", "nudge 2"):
        pool.start(equal, ())
    pool.start("both", [fused, last])
    pool.broken = {"channels_last"}
    assert "channels_last" in gates.judge(pool, (fused, last), "both").text
    assert not gates.judge(pool, (fused,), "both").broken


def test_a_check_that_is_not_done_in_time_is_not_trusted() -> None:
    class Late(FakePool):
        def is_ready_by(self, name: str, limit: float) -> bool:
            return not (name.startswith("gate ") and "compile" in self.calls[name])

    pool: Any = Late(product(bf16=0.5, compile=0.5))
    known = {kind.name: "" for kind in TRICKS}
    search = Search(
        pool, Gates(JobSource(), 0), JobFacts(True, known), time.monotonic() + 1e6, quick=True
    )
    search.run()
    assert "bf16" in names(search)
    assert "compile" not in names(search)
    assert any("no time left" in row.numerics for row in search.rows if row.verdict == REJECTED)
