"""The page of `tundish tune`: complete, escaped, one file."""

import itertools
import re
from html import escape
from xml.etree import ElementTree

from tundish.tuning.report.report_queries import path_to_plan, plan_row, trick_set
from tundish.tuning.report.tuning_page import report_page
from tundish.tuning.report.waterfall import waterfall_bars

from tests.helpers import tuning_reports as examples


def test_the_bars_lead_from_the_baseline_to_the_plan():
    bars = waterfall_bars(examples.image_model())
    assert [bar.name for bar in bars] == [
        "baseline",
        "+ fused optimizer",
        "+ bf16 autocast",
        "+ channels_last",
        "+ torch.compile",
        "plan, confirmed",
    ]
    for before, bar in itertools.pairwise(bars[:-1]):
        assert bar.before == before.ms
        assert bar.low < bar.ms < bar.high
    assert bars[-1].before == bars[0].ms
    assert [bar.ours for bar in bars] == [False] * 5 + [True]


def test_the_path_takes_no_rejected_row_and_ends_with_the_plans_tricks():
    report = examples.image_model()
    rejected = next(row for row in report.rows if row.label == "bf16")
    rejected.verdict = "rejected"
    path = path_to_plan(report)
    assert rejected not in path
    assert trick_set(path[-1]) == trick_set(plan_row(report))
    sets = [trick_set(row) for row in path]
    assert all(one < other for one, other in itertools.pairwise(sets))


def test_the_page_has_every_row_verdict_and_reason():
    report = examples.image_model()
    text = report_page(report, examples.plan_of(report))
    for row in report.rows:
        assert escape(row.numerics) in text
        assert row.verdict in text or row.verdict == "compared"
    for words in ("4.60x faster than your step", "Memory", "17.0 GB", "a fresh run", "2.11.0"):
        assert words in text
    assert "varied by 0.40 %" in text
    assert escape(examples.plan_of(report).patch().splitlines()[0]) in text


def test_the_page_needs_no_other_file_and_its_pictures_are_svg():
    text = report_page(examples.image_model())
    assert not re.search(r"(src|href)\s*=", text)
    pictures = re.findall(r"<svg.*?</svg>", text, re.S)
    assert len(pictures) == 2
    for picture in pictures:
        assert ElementTree.fromstring(picture).get("role") == "img"
    assert text.index("<svg") < text.index("<table")  # charts come first


def test_names_are_escaped():
    report = examples.image_model()
    report.job = report.model = report.notes[0] = "<script>alert(1)</script>"
    report.rows[1].label = report.rows[1].numerics = "<b>"
    text = report_page(report)
    assert "<script>" not in text
    assert "<td><b>" not in text


def test_a_run_without_a_plan_has_a_page_too():
    text = report_page(examples.nothing_pays())
    assert "No trick pays off" in text
    assert "How to use it" not in text
    assert "ended early" in report_page(examples.interrupted())
    empty = examples.nothing_pays()
    empty.rows = []
    assert "How it was measured" in report_page(empty)
