"""The step times of a report: text, page and JSON follow from the gains and one baseline time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tundish.tuning import tune as tuner
from tundish.tuning.job import JobSource
from tundish.tuning.report.report_queries import baseline_row, headline, plan_row
from tundish.tuning.report.tuning_page import report_page
from tundish.tuning.report.tuning_text import report_text
from tundish.tuning.search.confirmation import BASELINE
from tundish.tuning.search.gates import Gates
from tundish.tuning.search.search import Search
from tundish.tuning.search.variants import JobFacts
from tundish.tuning.tricks import TRICKS

from .test_search import FakePool, product

DESCRIBED: dict[str, Any] = {
    "model": "Net", "optimizer": "SGD", "batch": "(8, 3)", "samples": 8, "device": "a GPU",
    "baseline": "your flags",
}  # fmt: skip


class Slowing(FakePool):
    """A machine that is slower in each measurement than in the one before, and noisy."""

    events: list[Any] = []  # noqa: RUF012

    def measure(self, names: Any, rounds: int = 0) -> Any:
        usual, factor = self.time_of, 1 + 0.1 * len(self.timed)
        self.time_of = lambda tricks: factor * usual(tricks)
        try:
            return super().measure(names, rounds)
        finally:
            self.time_of = usual


@pytest.fixture
def report() -> Any:
    pool: Any = Slowing(product(bf16=0.5, compile=0.6), noise=0.05)
    known = {kind.name: "" for kind in TRICKS}
    search = Search(pool, Gates(JobSource(), 0), JobFacts(True, known), 1e9)
    search.run()
    assert search.winner
    return tuner.make_report(DESCRIBED, search, "train.py:build")


def test_every_time_follows_from_the_gain_and_the_confirmed_baseline(report: Any) -> None:
    confirmed = next(row for row in report.rows if row.phase == "confirm" and row.label == BASELINE)
    baseline = confirmed.measured_ms
    assert baseline_row(report).step_ms == baseline
    rows = [row for row in report.as_json()["rows"] if row["gain"]]
    assert len(rows) > 5
    for row in rows:
        assert baseline / row["step_ms"] == pytest.approx(row["gain"])
    assert any(abs(row["measured_ms"] / row["step_ms"] - 1) > 0.1 for row in rows)


def test_headline_table_and_interval_have_one_origin(report: Any) -> None:
    plan, gain = plan_row(report), report.gains[BASELINE]
    assert (plan.gain, plan.low, plan.high) == pytest.approx(tuple(gain.values()))
    sentence = headline(report)
    times, before, after = map(
        float, re.fullmatch(r"(.*)x faster than your step: (.*) -> (.*) ms", sentence).groups()
    )
    assert before / after == pytest.approx(times, rel=0.01)
    for text in (report_text(report, 200), report_page(report)):
        assert sentence in text.replace("&gt;", ">")
        assert text.count(f"{times:.2f}x ({plan.low:.2f}-{plan.high:.2f})") >= 2


def test_break_even_steps_follow_from_the_same_times(report: Any) -> None:
    plan, baseline = plan_row(report), baseline_row(report)
    saved_s = 1e-3 * (baseline.step_ms - plan.step_ms)
    assert plan.break_even_steps == round(plan.one_off_s / saved_s)
