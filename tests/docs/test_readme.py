"""README.md fits on a screen; its figures and its chart come from committed results."""

import json
import re
import sys

import pytest

from bench.common.result_files import read_rows
from tests.helpers.program import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_readme_chart

README = (ROOT / "README.md").read_text()
RESULTS = ROOT / "bench" / "results"


def rows(name, **wanted):
    return [row for row in read_rows(RESULTS / name) if wanted.items() <= row.items()]


def figure(name, **wanted):
    (row,) = rows(name, **wanted)
    return row["value"]


def test_the_readme_fits_on_a_screen():
    assert len(README.splitlines()) <= 60


def test_the_readme_has_at_most_ten_lines_of_code():
    (block,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) <= 10


def test_the_figures_of_boost_are_measured():
    gain = figure("boost.json", contestant="naive", metric="gain")
    predicted = figure("boost.json", contestant="naive", metric="predicted gain")
    assert f"{gain:.2f}x, predicted {predicted:.2f}x" in README


def test_the_figures_of_the_doctor_are_measured():
    steps = rows("doctor.json", metric="step")
    assert [row["contestant"] for row in steps if not row["right"]] == []
    assert len(steps) == 7
    off = max(abs(row["off"]) for row in rows("doctor.json", metric="measured after"))
    assert "names all seven planted bottlenecks" in README
    assert f"its predicted step times are off by {100 * off:.1f} % at most" in README


def test_the_figures_of_the_loader_are_measured():
    plain = figure("dropin.json", contestant="photos, accelerate / torch", metric="ratio")
    packed = figure(
        "dropin.json", contestant="photos, accelerate with a pack / torch", metric="ratio"
    )
    assert f"{plain:.1f}x torch's DataLoader on one core, {packed:.1f}x with a pack" in README


def test_the_figures_of_the_tuner_are_measured():
    tuned = json.loads((RESULTS / "tune.json").read_text())["rows"]
    (gains,) = [run["gains"] for run in tuned if run["model"] == "resnet50"]
    defaults, human = (gains[name]["gain"] for name in ("torch defaults", "human recipe"))
    assert f"ResNet-50 on an H200: {defaults:.1f}x torch's default flags, {human:.2f}x" in README


def test_the_figures_of_the_optimizers_are_measured():
    step = {"set": "resnet50", "optimizer": "adamw_clip_ema", "metric": "graph"}
    ours, theirs = (
        figure("gpu_optim.json", contestant=name, **step)
        for name in ("tundish", "torch, separate calls")
    )
    assert f"{ours:.0f} us, torch's three fused calls {theirs:.0f} us" in README


def test_the_chart_equals_the_generated_chart():
    again = "PYTHONPATH=. .venv/bin/python tools/make_readme_chart.py"
    assert make_readme_chart.CHART.read_text() == make_readme_chart.chart(), again
    assert f"({make_readme_chart.CHART.relative_to(ROOT)})" in README


@pytest.mark.parametrize("contestant", make_readme_chart.BARS)
def test_the_alternative_text_of_the_chart_has_its_figures(contestant):
    (text,) = re.findall(r"^!\[(.*)\]\(", README, re.MULTILINE)
    assert f"{make_readme_chart.rates()[contestant]:,.0f}" in text
