"""Benchmarks on a tiny set: rows carry their origin, and wrong pixels get no time."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.bad import run as bad
from bench.common.result_files import read_rows
from bench.load import contestants
from bench.load import run as load
from tests.helpers.bench_runs import ROOT, bench, check_rows, needs_build

pytestmark = needs_build


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


def test_a_missing_contestant_is_named_with_the_reason(samples, tmp_path, monkeypatch):
    monkeypatch.setenv("TUNDISH_PEERS", str(tmp_path / "nobody"))
    words = ["--images", "24", "--rounds", "1", "--cached", "--only", "dali", "ffcv_raw"]
    rows, table = bench("load", samples, tmp_path, *words)
    check_rows(rows, "load")
    assert [row["value"] for row in rows] == [None, None]
    assert "DALI CPU: not available: dali is not installed; --peers installs it" in table
    assert "FFCV, pixels 512 px: not available" in table


def test_start_gives_rows(samples, tmp_path):
    rows, table = bench("start", samples, tmp_path, "--rounds", "1", "--cached")
    check_rows(rows, "start")
    assert "import tundish, after numpy" in table


def test_monitoring_gives_rows_with_intervals(samples, tmp_path):
    words = ["--rounds", "1", "--images", "64", "--cached", "--before", ROOT]
    rows, table = bench("monitoring", samples, tmp_path, *words)
    check_rows(rows, "monitoring")
    assert "stats() at every batch" in table
    overheads = [row for row in rows if row["metric"] == "cpu overhead"]
    names = ["bare again", "stats() at every batch", "trace", "counters"]
    assert [row["contestant"] for row in overheads] == names
    assert all(row["low"] <= row["value"] + 1e-5 <= row["high"] + 2e-5 for row in overheads)


def test_bad_gives_rows_for_reports_that_are_exact(samples, tmp_path):
    words = ["--rounds", "1", "--images", "64", "--cached"]
    rows, table = bench("bad", samples, tmp_path, *words)
    check_rows(rows, "bad")
    names = {row["contestant"] for row in rows if row["metric"] == "overhead"}
    assert {"records lost, skip", "a byte wrong, substitute", "files cut, skip"} <= names
    assert "pack, clean" in table


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda report: None, ""),
        (lambda report: report["bad_samples"].pop(), "not every damaged record"),
        (lambda report: report["bad_samples"][0].update(sample=1), "a valid record"),
        (lambda report: report["bad_samples"][0].update(replaced_by=0), "what came instead"),
        (lambda report: report.update(skipped=3), "the counts"),
    ],
)
def test_a_report_that_is_not_exact_is_found(monkeypatch, change, verdict):
    clean = [(number, bytes([number])) for number in (2, 0, 1, 3)]
    named = [{"sample": 0, "position": 1, "replaced_by": None}]
    named.append({"sample": 3, "position": 3, "replaced_by": None})
    report = {"bad_samples": named, "bad": 2, "delivered": 2, "replaced": 0, "skipped": 2}
    change(report)
    monkeypatch.setattr(bad, "epoch_of", lambda path, policy: ([clean[0], clean[2]], report))
    assert bad.check_report(clean, Path(), "skip", {0, 3}, True).startswith(verdict)
    assert bool(bad.check_report(clean, Path(), "skip", {0, 3}, True)) == bool(verdict)


def test_cores_gives_rows(samples, tmp_path):
    out = tmp_path / "cores.json"
    line = [sys.executable, "-m", "bench.load.cores", "--data", samples, "--out", out]
    line += ["--work", tmp_path / "work", "--rounds", "1", "--images", "24", "--cached"]
    line += ["--threads", "1"]
    subprocess.run(list(map(str, line)), cwd=ROOT, check=True, capture_output=True, timeout=300)
    rows = read_rows(out)
    assert [row["metric"] for row in rows] == ["images_per_s", "scaling", "cpu_s_per_1000"]
    assert all(row["value"] > 0 and row["cores"] == 1 for row in rows)


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


def test_an_instruction_set_that_the_machine_lacks_gets_no_row(monkeypatch, tmp_path):
    monkeypatch.setattr(contestants, "cpu_of", lambda environment: "avx2")
    job = load.Job("", "", [], "", 1, 1, 1, 1)
    assert load.with_cpus(["tundish_pack", "dali"], ["avx512"]) == [
        "tundish_pack",
        "tundish_pack:avx512",
        "dali",
    ]
    answer = load.start("tundish_pack:avx512", job, tmp_path)
    assert answer == {"unavailable": "this machine has AVX2 at best"}


OTHER_TUNDISH = """
class transforms:
    RandomResizedCrop = RandomHorizontalFlip = print
def Loader(*_, **__):
    raise SystemExit("the other one")
"""


def test_a_run_of_monitoring_measures_the_given_package(tmp_path):
    (tmp_path / "tundish").mkdir()
    (tmp_path / "tundish" / "__init__.py").write_text(OTHER_TUNDISH)
    done = subprocess.run(
        [sys.executable, "-m", "bench.monitoring.one", "a.tnd", "bare", "1", "1", "trace.json"],
        cwd=ROOT,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == "the other one\n"


@pytest.mark.parametrize(
    ("contestant", "off", "verdict"),
    [
        ("tundish_pack", 0, ""),
        ("tundish_pack", 1, "wrong pixels"),
        ("dali", 1, ""),
        ("dali", 60, "wrong pixels"),
    ],
)
def test_wrong_pixels_get_no_time(samples, tmp_path, monkeypatch, contestant, off, verdict):
    images = load.prepare(str(samples), tmp_path / "work", 1, 0)
    draws = load.plans(str(images.pack), load.SEED, 1)

    def start(_, job, __):
        numbers = np.arange(len(images.files))
        pixels = np.stack([load.reference(images, draws, number) for number in numbers])
        pixels[0, 0] = pixels[0, 0] + np.where(pixels[0, 0] < 128, off, -off)
        np.savez(job.keep, images=pixels, draws=numbers)
        return {}

    monkeypatch.setattr(load, "start", start)
    usual = load.CONTESTANTS[contestant]
    strict = dataclasses.replace(usual, off=min(usual.off, 0.001))
    monkeypatch.setitem(load.CONTESTANTS, contestant, strict)
    job = load.Job(str(images.pack), str(images.jpeg_pack), images.files, "", load.SEED, 1, 8, 1)
    output, refused = load.judge(job, images, draws, tmp_path, [contestant])
    assert (output[contestant] == "exact") == (off == 0)
    assert refused.get(contestant, "").startswith(verdict)
    assert bool(refused) == bool(verdict)


def test_cache_has_more_hits_than_lru_at_every_size(tmp_path):
    out = tmp_path / "cache.json"
    code = "import sys; from bench.cache import run; run.COUNT = 400; sys.exit(run.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "--out", out],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    rows = read_rows(out)
    leads = [row["value"] for row in rows if row["metric"] == "least lead"]
    assert len(leads) == 3
    assert min(leads) > 0
    assert {row["percent"] for row in rows if row["metric"] == "hit rate"} == set(range(5, 100, 5))
    assert out.with_suffix(".svg").read_text().count("<polyline") == 6
