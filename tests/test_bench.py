"""Benchmarks on a tiny set: rows that carry their origin, and no time for wrong pixels."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(sys.executable).parent / "tundish"
MAKE_SAMPLES = ROOT / "build" / "release" / "make_samples"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="./dev build makes the program")

KEYS = {"bench", "contestant", "metric", "value", "unit", "runs", "spread"}
KEYS |= {"machine", "versions", "commit", "command"}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples") / "images"
    subprocess.run([MAKE_SAMPLES, folder, "24", "3"], check=True)
    return folder


def bench(name, samples, tmp_path, *words):
    """Runs a benchmark; gives its rows and what it printed."""
    out = tmp_path / f"{name}.json"
    line = [sys.executable, ROOT / "bench" / name / "run.py", "--data", samples, "--out", out]
    line += ["--work", tmp_path / "work", *words]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text()), done.stdout


def check_rows(rows, name):
    assert rows
    for row in rows:
        assert set(row) >= KEYS, row
        assert row["bench"] == name
        assert row["command"].startswith(f"./dev bench {name}")
        assert set(row["machine"]) >= {"cpu", "cores", "memory_gb"}
        if name != "resize":
            assert row["data"].startswith("24 images")
            assert row["data_name"] == "images"
            assert re.fullmatch("[0-9a-f]{16}", row["data_digest"])
            assert "/" not in row["command"].removeprefix("./dev")
        assert set(row["versions"]) >= {"tundish", "python", "numpy"}
        assert (row["value"] is None) == (row["runs"] == 0) == ("reason" in row)
        assert row["value"] is None or row["value"] > 0, row


def test_load_gives_rows_with_their_origin(samples, tmp_path):
    chosen = ["tundish_pack", "turbo_full", "torch_pillow"]
    words = ["--images", "24", "--rounds", "1", "--cached", "--cpu", "sse", "--only", *chosen]
    rows, table = bench("load", samples, tmp_path, *words)
    check_rows(rows, "load")
    rates = [row for row in rows if row["metric"] == "images_per_s" and row["cores"] == 1]
    assert [row["contestant"] for row in rates[:2]] == ["tundish", "tundish, SSE4.2"]
    assert rates[1]["instructions"] == "sse"
    assert len(rates) == len(chosen) + 1
    assert all(row["pixels"] == "exact" and row["runs"] == 1 for row in rates)
    assert {row["metric"] for row in rows} >= {"first_batch_s", "peak_rss_mb", "cpu_s_per_1000"}
    for ours in ("tundish", "tundish, SSE4.2"):
        assert re.search(
            rf"^{ours} is .*x torch DataLoader \+ Pillow per core", table, re.MULTILINE
        )
    assert (tmp_path / "load.svg").read_text().startswith("<svg")


def test_lanes_gives_rows_and_its_crops_are_exact(samples, tmp_path):
    rows, table = bench("lanes", samples, tmp_path, "--rounds", "1", "--cached")
    check_rows(rows, "lanes")
    assert "wrong pixels" not in table
    sizes = {row["contestant"]: row["value"] for row in rows if row["metric"] == "bytes / JPEG"}
    assert 0.3 < sizes["all"] < 1.1
    assert any(row["contestant"].startswith("lanes ") and row["metric"] == "crop" for row in rows)


def test_a_contestant_that_is_not_there_is_named_with_the_reason(samples, tmp_path):
    if importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia.dali"):
        pytest.skip("DALI is installed")
    words = ["--images", "24", "--rounds", "1", "--cached", "--only", "dali"]
    rows, table = bench("load", samples, tmp_path, *words)
    check_rows(rows, "load")
    assert [row["value"] for row in rows] == [None]
    assert "DALI CPU: not available: not installed" in table


def test_start_gives_rows(samples, tmp_path):
    rows, table = bench("start", samples, tmp_path, "--rounds", "1")
    check_rows(rows, "start")
    assert "import tundish, after numpy" in table


def test_decode_gives_rows_and_ours_is_exact(samples, tmp_path):
    rows, table = bench("decode", samples, tmp_path, "--rounds", "1", "--cached")
    check_rows(rows, "decode")
    pixels = {row["contestant"]: row["pixels"] for row in rows if row["metric"] == "images_per_s"}
    assert pixels["tundish"] == pixels["libjpeg-turbo full"] == "exact"
    assert "x full" in table


def test_resize_gives_rows_for_every_instruction_set(samples, tmp_path):
    rows, table = bench("resize", samples, tmp_path, "--rounds", "1")
    check_rows(rows, "resize")
    assert {row["contestant"] for row in rows} >= {"pillow", "scalar"}
    assert "x pillow" in table


def test_an_instruction_set_that_is_not_there_gets_no_row(load, monkeypatch, tmp_path):
    monkeypatch.setattr(load, "cpu_of", lambda environment: "avx2")
    job = load.Job("", "", [], "", 1, 1, 1, 1)
    assert load.with_cpus(["tundish_pack", "dali"], ["avx512"]) == [
        "tundish_pack",
        "tundish_pack:avx512",
        "dali",
    ]
    answer = load.start("tundish_pack:avx512", job, tmp_path)
    assert answer == {"unavailable": "this machine has AVX2 at best"}


def results(name):
    return json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())


def test_the_figures_told_are_those_of_the_rows():
    told = (ROOT / "bench" / "README.md").read_text()
    rows = [row for row in results("resize") if row["metric"] == "all"]
    us = {(row["contestant"], row["side"], row["filter"]): row["value"] for row in rows}
    for cpu, name in (("avx512", "AVX-512"), ("avx2", "AVX2")):
        gains = [
            us["pillow", side, kind] / value
            for (contestant, side, kind), value in us.items()
            if contestant == cpu and kind != "nearest"
        ]
        assert re.search(f"{min(gains):.1f}-{max(gains):.1f}x (Pillow )?with {name}", told)
    ratios = {
        row["contestant"]: row["value"] for row in results("load") if row["metric"] == "ratio"
    }
    assert f"{ratios['tundish / torch DataLoader + Pillow']:.2f}x torch DataLoader + Pillow" in told
    assert f"{ratios['tundish / DALI CPU']:.2f}x DALI CPU" in told


@pytest.fixture
def load(monkeypatch):
    """bench/load/run.py as a module."""
    folder = ROOT / "bench" / "load"
    monkeypatch.syspath_prepend(folder)
    spec = importlib.util.spec_from_file_location("bench_load_run", folder / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("contestant", "off", "verdict"),
    [
        ("tundish_pack", 0, ""),
        ("tundish_pack", 1, "wrong pixels"),
        ("dali", 1, ""),
        ("dali", 60, "wrong pixels"),
    ],
)
def test_wrong_pixels_get_no_time(load, samples, tmp_path, monkeypatch, contestant, off, verdict):
    images = load.prepare(str(samples), tmp_path / "work", 1, 0)
    draws = load.plans(str(images.pack), load.SEED, 1)

    def start(_, job, __):
        numbers = np.arange(len(images.files))
        pixels = np.stack([load.reference(images, draws, number) for number in numbers])
        pixels[0, 0] = pixels[0, 0] + np.where(pixels[0, 0] < 128, off, -off)
        np.savez(job.keep, images=pixels, draws=numbers)
        return {}

    monkeypatch.setattr(load, "start", start)
    monkeypatch.setattr(load, "CLOSE", 0.001)
    job = load.Job(str(images.pack), str(images.jpeg_pack), images.files, "", load.SEED, 1, 8, 1)
    output, refused = load.judge(job, images, draws, tmp_path, [contestant])
    assert (output[contestant] == "exact") == (off == 0)
    assert refused.get(contestant, "").startswith(verdict)
    assert bool(refused) == bool(verdict)
