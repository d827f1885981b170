"""`tundish bench` and `tundish demo`; tests/examples/test_demo.py covers the page of the demo."""

import json
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from tundish.demo.diagnose import Photos
from tundish.demo.train import SIDE

from tests.helpers.files import jpeg, tree, write
from tests.helpers.program import (
    PROGRAM,
    documented_keys,
    err,
    needs_program,
    out,
    result_json,
    tundish,
)

pytestmark = needs_program


def test_bench_times_one_thread_and_all(three_packed):
    words = ["bench", three_packed, "--runs", "1", "--seconds", "0.02"]
    words += ["--size", "8", "--batch-size", "2"]
    report = result_json(*words)
    assert set(report) == documented_keys("bench")
    assert report["rows"][0]["threads"] == 1
    assert all(row["images_per_second"] > 0 for row in report["rows"])
    assert "images/s" in out(tundish(*words))
    assert len(result_json(*words, "--threads", "3")["rows"]) == 1


def test_bench_load_shows_a_waterfall_of_the_stages(three_packed):
    words = ["bench", "load", three_packed, "--seconds", "0.05", "--size", "8", "--batch-size", "2"]
    report = result_json(*words, "--threads", "1")
    text = out(tundish("bench", "load", "--help"))
    assert text.startswith("examples:\n  tundish bench load")
    promised = re.search(r"with --json:\n.*?\{(.*?)\}", text, re.S)[1]
    assert set(report) == set(re.findall(r"[a-z_0-9]+", promised))
    stages = {stage["stage"]: stage for stage in report["stages"]}
    assert list(stages) == ["read", "decode", "augment", "other"]
    assert sum(stage["share"] for stage in stages.values()) == pytest.approx(1, abs=0.02)
    assert report["limit"] == max(stages, key=lambda name: stages[name]["share"])
    assert report["threads"] == 1
    assert report["thread_us_per_image"] == pytest.approx(1e6 / report["images_per_second"])
    assert report["trainer_wait_share"] is None

    lines = out(tundish(*words)).splitlines()
    assert len(lines) <= 24
    bars = [re.match(r"  (\w+) +[\d.]+ us +\d+ %  ( *)(#+)$", line) for line in lines]
    bars = [bar for bar in bars if bar]
    assert [bar[1] for bar in bars] == list(stages)
    starts = [len(bar[2]) for bar in bars]
    assert starts == sorted(starts)
    assert any(line.startswith("  limit ") for line in lines)


def test_bench_load_says_how_long_a_trainer_would_wait(three_packed):
    words = ["bench", "load", three_packed, "--seconds", "0.05", "--size", "8", "--batch-size", "2"]
    report = result_json(*words, "--train-rate", "1000000000")
    assert report["trainer_wait_share"] == pytest.approx(1, abs=0.02)
    assert result_json(*words, "--train-rate", "1")["trainer_wait_share"] == 0
    assert "of 1 images/s would wait 0 % of its time" in out(tundish(*words, "--train-rate", "1"))


def test_bench_load_sweeps_over_numbers_of_threads(three_packed, tmp_path):
    words = ["bench", "load", three_packed, "--seconds", "0.02", "--size", "8", "--batch-size", "2"]
    report = result_json(*words, "--sweep", "-o", tmp_path / "sweep.svg")
    chart = ElementTree.parse(tmp_path / "sweep.svg").getroot()
    lines = chart.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(one.get("points").split()) for one in lines] == [len(report["rows"])] * 2
    counts = [row["threads"] for row in report["rows"]]
    assert counts[0] == 1
    assert counts == sorted(set(counts))
    for row in report["rows"]:
        assert row["slowest"] <= row["images_per_second"] <= row["fastest"]
        assert row["predicted_images_per_second"] > 0
    best = max(row["images_per_second"] for row in report["rows"])
    assert report["auto_share"] == pytest.approx(report["auto"]["images_per_second"] / best)
    help_text = out(tundish("bench", "load", "--help"))
    assert set(report) == set(
        re.findall(r"[a-z_]+", re.search(r"--sweep \{(.*?)\}", help_text, re.S)[1])
    )


def test_a_file_may_be_named_load(three_packed, tmp_path):
    shutil.copy(three_packed, tmp_path / "load")
    words = ["bench", "load", "--runs", "1", "--seconds", "0.005", "--size", "8"]
    result = tundish(*words, cwd=tmp_path)
    assert result.returncode == 0, err(result)
    assert "slowest - fastest" in out(result)


def test_the_demo_runs_without_python_beside_it(tmp_path):
    """The program alone reports what is missing and completes the steps that need no Python."""
    shutil.copy(PROGRAM, tmp_path / "tundish")
    words = ["./tundish", "demo", "--samples", "20", "--seconds", "0.02", "--work", "work"]
    alone = {"PATH": "", "HOME": str(tmp_path)}
    result = subprocess.run(words, capture_output=True, cwd=tmp_path, env=alone)
    assert result.returncode == 0, err(result)
    for word in ("made", "packed", "verified", "loaded"):
        assert re.search(rf"^  {word} ", err(result), re.M), err(result)
    assert "no Python here can import tundish" in out(result)
    assert (tmp_path / "work/demo.tnd").is_file()
    about = json.loads((tmp_path / "work/demo.json").read_text())
    assert (about["pack"], about["folder"]) == ("demo.tnd", "photos")
    result = subprocess.run([*words, "--json"], capture_output=True, cwd=tmp_path, env=alone)
    report = json.loads(result.stdout)
    assert set(report) == documented_keys("demo")
    assert report["samples"] == 20
    assert report["python"] is None


@pytest.mark.parametrize("name", ["photos/cat/mine.jpg", "demo.tnd", "demo.json", "report.html"])
def test_the_demo_touches_nothing_that_no_demo_made(name, tmp_path):
    write(tmp_path / name, b"mine")
    before = tree(tmp_path)
    result = tundish("demo", "--samples", "10", "--work", ".", cwd=tmp_path)
    assert result.returncode == 2
    assert "tundish demo --work NEW-FOLDER" in err(result)
    assert tree(tmp_path) == before


def test_the_doctor_sees_images_of_one_size_before_and_after(tmp_path):
    write(tmp_path / "cat" / "1.jpg", jpeg())
    pixels, label = Photos([str(tmp_path / "cat" / "1.jpg")])[0]
    assert (tuple(pixels.shape), label) == ((3, SIDE, SIDE), 0)
