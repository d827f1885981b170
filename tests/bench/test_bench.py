"""Benchmarks on a tiny set: rows that carry their origin, and no time for wrong pixels."""

import dataclasses
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from PIL.JpegImagePlugin import get_sampling
from tundish.report import points

from bench.bad import run as bad
from bench.common import rounds
from bench.lanes import sets as lanes_sets
from bench.load import contestants
from bench.load import run as load

ROOT = Path(__file__).resolve().parents[2]
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
    line = [sys.executable, "-m", f"bench.{name}.run", "--data", samples, "--out", out]
    line += ["--work", tmp_path / "work", *words]
    done = subprocess.run(
        list(map(str, line)), cwd=ROOT, capture_output=True, text=True, timeout=300
    )
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
            assert row["data_name"].partition(", re-encoded ")[0] == "images"
            assert re.fullmatch("[0-9a-f]{16}", row["data_digest"])
            assert "/" not in row["command"].removeprefix("./dev")
        assert set(row["versions"]) >= {"tundish", "python", "numpy"}
        assert (row["value"] is None) == (row["runs"] == 0) == ("reason" in row)
        # A stage is a difference of two times: noise may make a small one negative.
        stage = row["metric"].startswith("stage: ")
        assert row["value"] is None or row["value"] > 0 or stage, row


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


@pytest.fixture(scope="module")
def lanes_run(samples, tmp_path_factory):
    """One run for all that is said of it: rows, what it printed, its folder."""
    folder = tmp_path_factory.mktemp("lanes")
    return *bench("lanes", samples, folder, "--rounds", "1", "--cached"), folder


def test_lanes_gives_rows_and_its_crops_are_exact(lanes_run):
    rows, table, _ = lanes_run
    check_rows(rows, "lanes")
    assert "wrong pixels" not in table
    sizes = {row["contestant"]: row["value"] for row in rows if row["metric"] == "bytes / JPEG"}
    assert 0.3 < sizes["all"] < 1.1
    crops = [row for row in rows if row["metric"] == "crop"]
    assert {row["pixels"] for row in crops if row["contestant"].startswith("lanes ")} == {"exact"}
    coefficients = {row["contestant"] for row in rows if row["metric"] == "all coefficients"}
    assert coefficients >= {"turbo", "lanes scalar"}


def test_the_stages_of_a_crop_are_all_of_it(lanes_run):
    rows, table, _ = lanes_run
    whole = {row["contestant"]: row["value"] for row in rows if row["metric"] == "stages"}
    assert whole
    for contestant, value in whole.items():
        parts = [
            row["value"]
            for row in rows
            if row["contestant"] == contestant and row["metric"].startswith("stage: ")
        ]
        assert len(parts) == 5
        assert sum(parts) == pytest.approx(value, abs=1e-5)
    assert "upsampling, colour" in table


def test_lanes_weighs_the_whole_pack_of_every_set(lanes_run, samples):
    rows, _, folder = lanes_run
    sets = ["as it is", "4:2:0, q75", "4:2:0, q85"]
    for metric in ("records / JPEG", "whole pack / JPEG files"):
        tables = [(row["set"], row["contestant"]) for row in rows if row["metric"] == metric]
        assert tables == [(it, t) for it in sets for t in ("built-in tables", "trained tables")]
    shares = [row["value"] for row in rows if row["metric"] == "share of lanes records"]
    assert shares == [1, 1, 1]
    digests = {row["set"]: row["data_digest"] for row in rows if "set" in row}
    assert len(set(digests.values())) == 3

    pack, jpegs = folder / "again.tnd", folder / "work" / "jpegs"
    words = [PROGRAM, "pack", jpegs, "-o", pack, "--tables", "builtin", "--quiet"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    files = sum(file.stat().st_size for file in samples.rglob("*.jpg"))
    told = next(row["value"] for row in rows if row["metric"] == "whole pack / JPEG files")
    assert told == pytest.approx(pack.stat().st_size / files, abs=1e-6)


def test_the_chart_of_lanes_has_a_panel_for_every_set(lanes_run):
    svg = (lanes_run[2] / "lanes.svg").read_text()
    for name in ("as it is", "4:2:0, q75", "4:2:0, q85"):
        assert f">{name}, " in svg
    assert svg.count(">libjpeg-turbo region<") == 3


def test_lanes_leaves_the_re_encoded_sets_out(samples, tmp_path):
    words = ["--rounds", "1", "--cached", "--as-it-is", "--tables", "train"]
    rows, table = bench("lanes", samples, tmp_path, *words)
    check_rows(rows, "lanes")
    assert {row["set"] for row in rows if "set" in row} == {"as it is"}
    assert "trained tables" in table


def test_re_encoded_files_have_their_sampling_quality_and_name(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    noise = np.random.default_rng(1).integers(0, 256, (40, 50, 3), np.uint8)
    Image.fromarray(noise).save(folder / "000000_a.png")
    Image.fromarray(noise[..., 0]).save(folder / "000001_a.jpg")
    (folder / "000002_b.jpg").write_bytes(b"no image")
    files = sorted(map(str, folder.iterdir()))
    images = SimpleNamespace(files=files * 2, distinct=len(files))
    out = lanes_sets.reencode(images, tmp_path / "out", 75)
    assert sorted(file.name for file in out.iterdir()) == ["000001_a.jpg", "a.jpg"]
    with Image.open(out / "a.jpg") as colour, Image.open(out / "000001_a.jpg") as grey:
        assert get_sampling(colour) == 2  # 4:2:0
        assert grey.mode == "L"
        noise_again = io.BytesIO()
        Image.fromarray(noise).save(noise_again, "JPEG", quality=75, subsampling="4:2:0")
        with Image.open(noise_again) as expected:
            assert colour.quantization == expected.quantization


def test_names_of_points_do_not_cover_each_other():
    crowd = [points.Point(f"point {i}", 100 + i, 1.0) for i in range(4)]
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
def test_ticks_are_round_and_hold_all_values(low, high, expected):
    assert points.ticks(low, high) == pytest.approx(expected)


def test_a_contestant_that_is_not_there_is_named_with_the_reason(samples, tmp_path, monkeypatch):
    monkeypatch.setenv("TUNDISH_PEERS", str(tmp_path / "nobody"))
    words = ["--images", "24", "--rounds", "1", "--cached", "--only", "dali", "ffcv_raw"]
    rows, table = bench("load", samples, tmp_path, *words)
    check_rows(rows, "load")
    assert [row["value"] for row in rows] == [None, None]
    assert "DALI CPU: not available: dali is not installed; --peers installs it" in table
    assert "FFCV, pixels 512 px: not available" in table


def test_start_gives_rows(samples, tmp_path):
    rows, table = bench("start", samples, tmp_path, "--rounds", "1")
    check_rows(rows, "start")
    assert "import tundish, after numpy" in table


def test_monitoring_gives_rows_with_intervals(samples, tmp_path):
    words = ["--rounds", "1", "--images", "64", "--before", ROOT]
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
        (lambda report: report["bad_samples"][0].update(sample=1), "a sound record"),
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
    rows = json.loads(out.read_text())
    assert [row["metric"] for row in rows] == ["images_per_s", "scaling", "cpu_s_per_1000"]
    assert all(row["value"] > 0 and row["cores"] == 1 for row in rows)


@pytest.mark.parametrize(
    ("count", "low", "high"), [(3, 1, 3), (6, 1, 6), (10, 2, 9), (15, 4, 12), (25, 8, 18)]
)
def test_the_interval_of_a_median_leaves_out_what_the_sign_test_allows(count, low, high):
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


def test_an_instruction_set_that_is_not_there_gets_no_row(monkeypatch, tmp_path):
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


def test_a_run_of_monitoring_measures_the_package_it_is_told(tmp_path):
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
    rows = json.loads(out.read_text())
    leads = [row["value"] for row in rows if row["metric"] == "least lead"]
    assert len(leads) == 3
    assert min(leads) > 0
    assert {row["percent"] for row in rows if row["metric"] == "hit rate"} == set(range(5, 100, 5))
    assert out.with_suffix(".svg").read_text().count("<polyline") == 6
