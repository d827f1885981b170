"""A page per format: commands, what is refused, the speed as measured, the tests and the fuzz target."""

import re

import pytest

from bench.common.result_files import read_rows
from tests.helpers.program import ROOT

FORMATS = ROOT / "docs" / "formats"
PAGES = sorted(page.stem for page in FORMATS.glob("*.md"))
# The name of a format in src/source/formats.cpp, where its page is called otherwise.
PAGE_OF = {"npy": "numpy", "npz": "numpy", "idx": "cifar", "cifar-python": "cifar"}
IN_SOURCES = {"csv", "folder"}  # sections of docs/sources.md


def test_every_format_has_a_page():
    table = (ROOT / "src" / "source" / "formats.cpp").read_text()
    names = set(re.findall(r'Format\{"([a-z0-9-]+)"', table))
    assert {"tar", "hdf5", "cifar-python"} <= names
    assert {PAGE_OF.get(name, name) for name in names - IN_SOURCES} == set(PAGES) - {"python"}
    index = (ROOT / "docs" / "sources.md").read_text()
    for page in PAGES:
        assert f"](formats/{page}.md)" in index


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_commands_refusals_speed_and_tests(page):
    text = (FORMATS / f"{page}.md").read_text()
    assert "tundish pack" in text or "tundish.pack(" in text
    assert "tundish.Loader(" in text or "not trained from" in text or "train directly" in text
    assert "TND-3" in text
    assert "\n## Speed\n" in text
    for word in ("Source: `", "Tests: ", "Fuzz: `fuzz/"):
        assert word in text


@pytest.mark.parametrize(
    ("page", "measured"),
    [
        ("tfrecord", "TFRecord of JPEGs"),
        ("tfrecord", "TFRecord of floats"),
        ("lmdb", "LMDB of JPEGs"),
        ("lmdb", "LMDB of Datums"),
        ("hdf5", "HDF5 of JPEGs"),
        ("hdf5", "HDF5 in chunks, gzip"),
        ("zarr", "Zarr 3, zstd"),
        ("numpy", ".npy"),
    ],
)
def test_the_figures_are_the_measured_ones(page, measured):
    rows = read_rows(ROOT / "bench" / "results" / "sources.json")
    ratio, rate = (
        next(row["value"] for row in rows if row["contestant"] == name)
        for name in (measured, f"{measured}: tundish")
    )
    text = (FORMATS / f"{page}.md").read_text().split("\n## Speed\n")[1]
    times = [float(found) for found in re.findall(r"([0-9.]+) times", text)]
    rates = [float(found.replace(",", "")) for found in re.findall(r"([0-9,]+) [a-z]+/s", text)]
    assert any(abs(found - ratio) <= (0.05 if found < 10 else 0.5) for found in times)
    assert any(abs(found / rate - 1) < 0.005 for found in rates)
