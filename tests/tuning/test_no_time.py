"""A run without time for a single trial is a failure, not an empty plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tundish import Error
from tundish.tuning import tune as tuner
from tundish.tuning.cli import tune_verb
from tundish.tuning.fingerprint import Fingerprint
from tundish.tuning.tricks import TRICKS

from .test_report_times import DESCRIBED
from .test_search import FakePool, product

MADE_FOR = Fingerprint("Net", "0" * 16, 10, "SGD", ["(8, 3)"], "cpu", "2.11", "")
JOB = "train.py:build"


class Pool(FakePool):
    """Stands in for the pool of processes."""

    def close(self) -> None:
        self.events: list[Any] = []

    def result(self, name: str) -> Any:
        return super().result(name) if self.calls[name] else []  # no layer loses channels_last


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    (tmp_path / "train.py").write_text("def build():\n    pass\n")
    fake: Any = Pool(product(bf16=0.5))
    facts = {"device_type": "cpu", "obstacles": {kind.name: "" for kind in TRICKS}}
    described = {**DESCRIBED, **facts, "fingerprint": MADE_FOR.as_json()}
    monkeypatch.setattr(tuner, "TrialPool", lambda *words, **named: fake)
    monkeypatch.setattr(tuner, "describe", lambda *words: described)
    monkeypatch.chdir(tmp_path)
    return fake


@pytest.mark.parametrize("words", [["--quick"], ["--minutes", "1"], []])
def test_a_run_without_a_trial_exits_with_1_and_saves_no_plan(
    pool: Any, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool.late = {kind.name for kind in TRICKS}
    assert tune_verb.main([JOB, *words]) == 1
    out, err = capsys.readouterr()
    assert "the search had no time for a single trial within" in err
    assert "fix: give the run more time: --minutes" in err
    assert not out
    assert not (tmp_path / "plan.json").exists()


def test_the_error_suggests_a_longer_limit(pool: Any) -> None:
    pool.late = {kind.name for kind in TRICKS}
    with pytest.raises(Error, match=r"within 30 minutes.*takes 100.0 ms\n.*--minutes 90$"):
        tuner.tune(JOB, minutes=30)


def test_the_human_recipe_alone_is_no_search(pool: Any, tmp_path: Path) -> None:
    """It is timed in the fresh run and is not faster; no variant of the search was ready in time."""
    human = {"bf16", "channels_last", "compile", "fused_optimizer"}
    pool.time_of = product()
    pool.is_ready_by = lambda name, limit: pool.tricks.get(name, set()) in (set(), human)
    assert tune_verb.main([JOB, "--quick"]) == 1
    assert len(pool.timed[-1]) == 3  # with the baseline and its twin
    assert not (tmp_path / "plan.json").exists()
    pool.time_of = product(compile=0.5)
    assert tune_verb.main([JOB, "--quick", "-q"]) == 0  # then it is the plan
    assert (tmp_path / "plan.json").exists()


def test_a_run_with_time_for_one_trial_has_a_plan(pool: Any, tmp_path: Path) -> None:
    pool.late = {kind.name for kind in TRICKS} - {"bf16", "fused_optimizer", "cuda_graph"}
    assert tune_verb.main([JOB, "--quick", "-q"]) == 0
    assert (tmp_path / "plan.json").exists()


def test_a_run_without_any_trick_to_try_is_no_failure(pool: Any) -> None:
    plan = tuner.tune(JOB, select=[])
    assert plan.tricks == []
