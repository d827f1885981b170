"""The time limit of a tuning run holds wherever a job hangs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import tundish
from tundish.tuning import tune as tuner
from tundish.tuning.job import source_of
from tundish.tuning.trials.pool import TrialPool
from tundish.tuning.tricks.channels_last import ChannelsLast

from . import jobs
from .test_trial import children

pytestmark = pytest.mark.usefixtures("warm_trials")
GUARD_S = 200.0  # the jobs hang for 600 s


def test_a_build_that_hangs_is_ended_at_the_limit() -> None:
    began = time.monotonic()
    with pytest.raises(tundish.ArgumentError) as caught:
        tundish.tune(jobs.build_hangs, minutes=0.02)
    assert "build_hangs() did not return within 0.02 minutes" in str(caught.value)
    assert "--minutes gives more time" in str(caught.value)
    assert time.monotonic() - began < GUARD_S
    assert not children()


def test_a_step_that_hangs_is_ended_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tuner.describe

    def describe(source: Any, request: Any, on_wait: Any) -> Any:
        """Describes the job without a limit; a busy machine could exceed the short limit."""
        return usual(source, tuner.TuneRequest(9, False, 0, request.allowed), on_wait)

    monkeypatch.setattr(tuner, "describe", describe)
    began = time.monotonic()
    with pytest.raises(tundish.ArgumentError) as caught:
        tundish.tune(jobs.hangs, minutes=0.02)
    assert "your step did not finish its first 30 runs within 0.02 minutes" in str(caught.value)
    assert "--minutes gives more time" in str(caught.value)
    assert time.monotonic() - began < GUARD_S
    assert not children()


def test_a_turn_that_hangs_is_ended_at_the_deadline(tmp_path: Path) -> None:
    pool = TrialPool(source_of(jobs.hangs_later), str(tmp_path), seed=0, steps=1, prepare_s=GUARD_S)
    began = time.monotonic()
    try:
        pool.start("plain", ())
        assert not pool.outcome("plain").failed
        pool.deadline = time.monotonic() + 1
        assert pool.measure(["plain"], rounds=2) == {}
        assert pool.outcome("plain").kind == "hang"
        assert len(pool.outcome("plain").losses) == 1  # the other trials are still compared with it
        pool.start("layout", [ChannelsLast()])  # after the deadline
        assert pool.outcome("layout").kind == "late"
        assert "--minutes" in pool.outcome("layout").failed
        assert not pool.alive()
    finally:
        pool.close()
    assert time.monotonic() - began < GUARD_S
