"""`bench augment` on a tiny set: origin of the rows, no time for wrong pixels, README figures."""

import dataclasses
import math

import numpy as np
import pytest
from tundish import transforms as T

from bench.augment import report, run
from bench.augment.contestants import CONTESTANTS, REFERENCE
from bench.augment.operations import OPERATIONS
from bench.common.result_files import read_rows
from tests.helpers.bench_runs import ROOT, bench, check_rows, needs_build

pytestmark = needs_build

BRIGHTNESS = OPERATIONS[0]


def test_augment_gives_rows_and_ours_are_torchvisions_pixels(samples, tmp_path):
    chosen = ["brightness", "affine bicubic", "GaussianBlur 23", "noise"]
    words = ["--rounds", "2", "--milliseconds", "1", "--only", *chosen]
    rows, table = bench("augment", samples, tmp_path, *words)
    check_rows(rows, "augment")
    # A contestant that is not installed has one row without an operation.
    measured = [row for row in rows if row["metric"] == "us" and "operation" in row]
    times = {(row["contestant"], row["operation"]): row for row in measured}
    ours = [name for name, operation in times if "tundish" in name and operation == "brightness"]
    assert ours
    for name in ours:
        assert times[name, "brightness"]["pixels"] == "exact"
        assert times[name, "affine bicubic"]["pixels"] == "exact"
        assert times[name, "noise"]["runs"] == 2
        assert f"{name} is" in table
    assert times[REFERENCE, "noise"]["reason"] == f"{REFERENCE} has no such operation"
    means = [row for row in rows if row["metric"] == "geometric mean"]
    assert {row["over"] for row in means} == {"pixel and affine operations", "all"}
    assert (tmp_path / "augment.svg").read_text().startswith("<svg")


def test_rivals_that_are_not_installed_are_named_with_the_reason(samples, tmp_path, monkeypatch):
    monkeypatch.setenv("TUNDISH_PEERS", str(tmp_path / "nobody"))
    words = ["--rounds", "1", "--milliseconds", "1", "--only", "brightness"]
    rows, table = bench("augment", samples, tmp_path, *words)
    check_rows(rows, "augment")
    for name, peer in (("DALI CPU", "dali"), ("albumentations", "albumentations")):
        assert f"{name}: not available: {peer} is not installed; --peers installs it" in table


def test_every_part_of_a_contestant_has_a_description():
    parts = {one.part for one in CONTESTANTS if one.part}
    assert parts == set(report.PARTS)


def test_every_pixel_transform_is_benchmarked():
    """Containers, which only choose among other transforms, have no operation."""
    measured = {type(one.transform).__name__ for one in OPERATIONS}
    containers = {"RandAugment", "TrivialAugmentWide", "AutoAugment", "RandomApply"}
    containers |= {"AugMix", "TimmRandAugment", "TimmAutoAugment", "TimmRandomErasing"}
    containers |= {"RandomChoice", "RandomOrder", "RandomPhotometricDistort", "RandomGrayscale"}
    elsewhere = {"RandomResizedCrop", "Resize", "CenterCrop", "Pad", "RandomCrop", "Normalize"}
    elsewhere |= {"ResizeKeepRatio", "CenterCropOrPad", "RandomCropOrPad", "TrimBorder"}
    elsewhere |= {"RandomHorizontalFlip", "RandomVerticalFlip", "ToDtype", "PadTo"}
    elsewhere |= {"FiveCrop", "TenCrop", "RandomResize", "RandomShortestSize", "ScaleJitter"}
    elsewhere |= {"MixUp", "CutMix", "TimmMixup"}  # transforms of whole batches
    names = {one.__name__ for one in T.Transform.__subclasses__()}
    assert names - containers - elsewhere - measured == set()


class OursAlone:
    """A contestant that supports every operation."""

    who = CONTESTANTS[0]

    def results(self, operation, kept):
        return np.zeros((1, run.SIDE, run.SIDE, 3), np.uint8)


def test_an_operation_without_a_reference_is_timed_but_not_compared(tmp_path):
    before = np.zeros((1, run.SIDE, run.SIDE, 3), np.uint8)
    alone = dataclasses.replace(BRIGHTNESS, compared=False)
    found = run.judge([OursAlone()], alone, before, tmp_path)[CONTESTANTS[0].name]
    assert (found.pixels, found.wrong) == ("not compared", False)
    with pytest.raises(SystemExit, match="nobody to compare with"):
        run.judge([OursAlone()], BRIGHTNESS, before, tmp_path)


def test_drawn_arguments_come_from_the_plan():
    shift = next(one for one in OPERATIONS if one.name == "translate nearest")
    value = T.plan([shift.transform], (run.SIDE, run.SIDE))["steps"][1]["value"]
    assert shift.all_arguments()["translate"] == (-value[2], -value[5])


@pytest.mark.parametrize(
    ("off", "allowed", "said", "wrong"),
    [(0, 0, "exact", False), (1, 0, "max 1", True), (1, 1, "max 1", False), (2, 1, "max 2", True)],
)
def test_pixels_that_differ_from_torchvision_are_wrong(off, allowed, said, wrong):
    before = np.full((1, run.SIDE, run.SIDE, 3), 7, np.uint8)
    other = before.copy()
    other[0, 0, 0, 0] += off
    operation = dataclasses.replace(BRIGHTNESS, off=allowed)
    assert run.compare(operation, True, before, other).wrong == wrong
    assert run.compare(operation, True, before, other).pixels.endswith(said)
    assert not run.compare(operation, False, before, other).wrong


@pytest.mark.parametrize(("sigma", "wrong"), [(20, False), (22, True)])
def test_noise_with_a_different_deviation_is_wrong(sigma, wrong):
    draw = np.random.default_rng(1)
    before = np.full((2, run.SIDE, run.SIDE, 3), 128, np.uint8)
    first, second = (
        (before + draw.normal(0, s, before.shape)).astype(np.uint8) for s in (20, sigma)
    )
    assert run.compare_noise(True, second, first, before).wrong == wrong


class RowsThatCount:
    def __init__(self):
        self.values = {}

    def add(self, contestant, metric, values, unit, **more):
        self.values[contestant, more["over"]] = values
        return report.middle(values)[0]


def test_the_geometric_mean_uses_the_ratios_of_each_round():
    operations = [BRIGHTNESS, dataclasses.replace(BRIGHTNESS, name="blur", group="other")]
    fast, slow = (lambda *us: report.Result("exact", us=list(us))), "tundish, AVX2"
    results = {
        "brightness": {slow: fast(1, 2), REFERENCE: fast(8, 8)},
        "blur": {slow: fast(4, 1), REFERENCE: fast(2, 2)},
    }
    rows = RowsThatCount()
    report.means(rows, operations, results, [slow, REFERENCE])
    pair = f"{slow} / {REFERENCE}"
    assert rows.values[pair, "pixel and affine operations"] == pytest.approx([8, 4])
    assert rows.values[pair, "all"] == pytest.approx([2, math.sqrt(8)])


def test_a_lost_case_also_has_the_ratio_without_the_copy():
    """The ratio without the copy is the median of 2/(4 - 3.5) and 2/(4 - 3)."""
    ours, operations = "tundish, AVX2", [BRIGHTNESS]
    results = {
        "brightness": {
            ours: report.Result("exact", us=[4.0, 4.0]),
            REFERENCE: report.Result("exact", us=[2.0, 2.0]),
        }
    }
    who = [ours, REFERENCE]
    (line,) = report.lost(operations, results, {ours: [3.5, 3.0]}, who)
    assert line == (
        f"{ours} loses to {REFERENCE}: brightness, 0.50x; 3.0x without the copy, which a pipeline does not make"
    )
    (line,) = report.lost(operations, results, {}, who)
    assert line.endswith("brightness, 0.50x")
    results["brightness"][ours].us = [1.0, 1.0]
    assert report.lost(operations, results, {}, who) == ["nothing is slower than a rival"]


def test_recipes_give_rows(samples, tmp_path):
    words = ["--recipes", "deit3", "--rounds", "1", "--images", "24", "--cached"]
    rows, table = bench("augment", samples, tmp_path, *words)
    check_rows(rows, "augment")
    assert {row["recipe"] for row in rows} == {"deit3"}
    assert "x DataLoader" in table


def test_the_readme_has_the_means_of_the_rows():
    rows = read_rows(ROOT / "bench" / "results" / "augment.json")
    readme = (ROOT / "bench" / "README.md").read_text()
    means = [
        row["value"]
        for cpu in ("AVX-512", "AVX2")
        for row in rows
        if row["contestant"] == f"tundish, {cpu} / {REFERENCE}"
        and row["metric"] == "geometric mean"
        and row["over"] == "pixel and affine operations"
    ]
    wide, narrow = means
    row = f"| torchvision on PIL images, with equal pixels | {wide:.1f}x | {narrow:.1f}x |"
    assert row in readme
