"""The benchmark of the lanes codec on a tiny set."""

import io
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from PIL.JpegImagePlugin import get_sampling

from bench.lanes import sets as lanes_sets
from tests.helpers.bench_runs import PROGRAM, bench, check_rows, needs_build

pytestmark = needs_build


@pytest.fixture(scope="module")
def lanes_run(samples, tmp_path_factory):
    """Rows, output and folder of one run, shared by all tests of the file."""
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


def test_the_stages_of_a_crop_add_up_to_the_crop(lanes_run):
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
    assert "upsampling, color" in table


def test_lanes_reports_the_pack_size_of_every_set(lanes_run, samples):
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
    words = [PROGRAM, "pack", jpegs, "-o", pack, "--lanes-tables", "builtin", "--quiet"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    files = sum(file.stat().st_size for file in samples.rglob("*.jpg"))
    reported = next(row["value"] for row in rows if row["metric"] == "whole pack / JPEG files")
    assert reported == pytest.approx(pack.stat().st_size / files, abs=1e-6)


def test_the_chart_of_lanes_has_a_panel_for_every_set(lanes_run):
    svg = (lanes_run[2] / "lanes.svg").read_text()
    for name in ("as it is", "4:2:0, q75", "4:2:0, q85"):
        assert f">{name}, " in svg
    assert svg.count(">libjpeg-turbo region<") == 3


def test_lanes_omits_the_re_encoded_sets(samples, tmp_path):
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
    with Image.open(out / "a.jpg") as color, Image.open(out / "000001_a.jpg") as gray:
        assert get_sampling(color) == 2  # 4:2:0
        assert gray.mode == "L"
        noise_again = io.BytesIO()
        Image.fromarray(noise).save(noise_again, "JPEG", quality=75, subsampling="4:2:0")
        with Image.open(noise_again) as expected:
            assert color.quantization == expected.quantization
