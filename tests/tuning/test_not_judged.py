"""Tricks whose loss band is too wide for a verdict: kept only if one step agrees with fp32."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tundish.tuning import tune as tuner
from tundish.tuning.job import JobSource
from tundish.tuning.report.report_queries import plan_row
from tundish.tuning.report.results import FASTER, KEPT, NOT_JUDGED, REJECTED
from tundish.tuning.report.tuning_page import report_page
from tundish.tuning.report.tuning_text import report_text
from tundish.tuning.search.confirmation import TWIN
from tundish.tuning.search.gates import Gates
from tundish.tuning.search.plan_comparison import compare_with_plan
from tundish.tuning.search.search import Search
from tundish.tuning.search.variants import JobFacts
from tundish.tuning.trials.pool import TrialOutcome
from tundish.tuning.tricks import TRICKS

from .test_report_times import DESCRIBED
from .test_search import FakePool, names, product


class Unsteady(FakePool):
    """Two fp32 runs differ by a tenth, so the band is 30 % wide."""

    events: list[Any] = []  # noqa: RUF012

    def outcome(self, name: str) -> TrialOutcome:
        found = super().outcome(name)
        factor = 1.1 if name == TWIN else 1.0
        found.losses = [factor * loss for loss in found.losses]
        return found


def searched(**words: Any) -> Search:
    pool: Any = Unsteady(product(bf16=0.5, channels_last=0.8), **words)
    known = {kind.name: "" for kind in TRICKS}
    search = Search(pool, Gates(JobSource(), 0), JobFacts(True, known), 1e9)
    search.run()
    return search


def test_a_trick_that_passes_the_fp32_gate_is_kept_and_reported_as_not_judged() -> None:
    search = searched()
    assert names(search) == {"bf16", "channels_last"}
    report = tuner.make_report(DESCRIBED, search, "train.py:build")
    plan = plan_row(report)
    assert plan is not None
    assert (plan.verdict, plan.judged) == (KEPT, False)
    assert plan.numerics.startswith(f"{NOT_JUDGED}: the loss band is ")
    assert plan.numerics.endswith("; one step passed the fp32 gate: within fp32 noise")
    assert plan.numerics in search.notes
    for text in (report_text(report, 100), report_page(report)):
        assert plan.numerics in " ".join(text.split())
        assert "faster, not judged" in text
    assert "keep, not judged" in report_page(report)
    values = json.loads(json.dumps(report.as_json()))
    assert [row["judged"] for row in values["rows"] if row["verdict"] == KEPT] == [False]


def test_a_trick_that_fails_the_fp32_gate_is_not_kept() -> None:
    search = searched(broken={"bf16"})
    assert names(search) == {"channels_last"}
    rows = [row for row in search.rows if {"name": "bf16"} in row.tricks and row.turns]
    rejected = [row for row in rows if row.verdict == REJECTED]
    assert rejected
    for row in rejected:
        assert row.numerics.startswith(NOT_JUDGED)
        assert "bf16 autocast fails the fp32 gate: gradient of fc.weight" in row.numerics
    assert not [row for row in rows if row.verdict in (KEPT, FASTER)]


@pytest.mark.parametrize("width", [70, 100, 200])
def test_a_trick_compared_tensor_by_tensor_is_judged_without_its_loss(width: int) -> None:
    search = searched(broken={"bf16"})
    report = tuner.make_report(DESCRIBED, search, "train.py:build")
    plan = plan_row(report)
    assert plan is not None
    assert plan.judged
    assert "within fp32 noise; the loss was not judged: the loss band is" in plan.numerics
    assert plan.numerics in " ".join(report_text(report, width).split())


def test_a_measurement_of_the_plan_says_that_it_was_not_judged() -> None:
    report = tuner.make_report(DESCRIBED, searched(), "train.py:build")
    plan = plan_row(report)
    assert plan is not None
    found = compare_with_plan(plan.tricks, report, report, 3.0)
    assert found.ok
    assert f"; {NOT_JUDGED}: the loss band is" in found.text
