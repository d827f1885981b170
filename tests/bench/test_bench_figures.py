"""Benchmark figures: medians with intervals, charts, and the claims of bench/README.md."""

import re

import pytest
from tundish.report import points

from bench.common import rounds
from bench.common.result_files import read_rows
from tests.helpers.bench_runs import ROOT


def test_point_labels_do_not_overlap():
    crowd = [points.ChartPoint(f"point {i}", 100 + i, 1.0) for i in range(4)]
    svg = points.point_chart([("<panel>", crowd)], "a & b", "x", "y")
    assert "&lt;panel&gt;" in svg
    assert svg.count("<circle") == 4
    box = r"<rect class='ground' x='([-\d.]+)' y='([-\d.]+)' width='([\d.]+)' height='16.0'"
    boxes = [tuple(map(float, found)) for found in re.findall(box, svg)]
    assert len(boxes) == 4
    for i, (x, y, width) in enumerate(boxes):
        assert all(
            x + width <= other_x or other_x + other_w <= x or abs(y - other_y) >= 16
            for other_x, other_y, other_w in boxes[:i]
        )


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 7500, [0, 2000, 4000, 6000, 8000]),
        (0, 130, [0, 20, 40, 60, 80, 100, 120, 140]),
        (0.88, 1.02, [0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0, 1.02]),
        (0.3, 1.1, [0.2, 0.4, 0.6, 0.8, 1.0, 1.2]),
    ],
)
def test_ticks_are_round_and_cover_all_values(low, high, expected):
    assert points.ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("count", "low", "high"), [(3, 1, 3), (6, 1, 6), (10, 2, 9), (15, 4, 12), (25, 8, 18)]
)
def test_the_median_interval_follows_the_sign_test(count, low, high):
    sure = rounds.interval(float(i) for i in range(count, 0, -1))
    assert (sure.low, sure.high) == (low, high)
    assert sure.median == (count + 1) / 2


def test_contestants_take_turns_and_the_first_round_does_not_count():
    called = []
    costs = rounds.take_turns(
        ["a", "b"], 2, lambda name: called.append(name) or rounds.Cost(len(called), 1)
    )
    assert called == ["a", "b", "b", "a", "a", "b"]
    assert [cost.wall_s for cost in costs["a"]] == [4, 5]


def results(name):
    return read_rows(ROOT / "bench" / "results" / f"{name}.json")


def test_readme_figures_match_the_rows():
    readme = (ROOT / "bench" / "README.md").read_text()
    rows = [row for row in results("resize") if row["metric"] == "all"]
    us = {(row["contestant"], row["side"], row["filter"]): row["value"] for row in rows}
    for cpu, name in (("avx512", "AVX-512"), ("avx2", "AVX2")):
        gains = [
            us["pillow", side, kind] / value
            for (contestant, side, kind), value in us.items()
            if contestant == cpu and kind != "nearest"
        ]
        assert re.search(f"{min(gains):.1f}-{max(gains):.1f}x (Pillow )?with {name}", readme)
    ratios = {
        row["contestant"]: row["value"] for row in results("load") if row["metric"] == "ratio"
    }
    assert (
        f"{ratios['tundish / torch DataLoader + Pillow']:.2f}x torch DataLoader + Pillow" in readme
    )
    assert f"{ratios['tundish / DALI CPU']:.2f}x DALI CPU" in readme
