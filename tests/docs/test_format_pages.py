"""docs/formats/: a section per format with commands, refusals and the measured speed."""

import re

import pytest

from bench.common.result_files import read_rows
from tests.helpers.program import ROOT

FORMATS = ROOT / "docs" / "formats"
# Page and heading that describe each format of src/data/source/formats.cpp.
SECTIONS = {
    "tar": ("records", "tar (WebDataset)"),
    "tfrecord": ("records", "TFRecord"),
    "recordio": ("records", "MXNet RecordIO"),
    "lmdb": ("records", "LMDB"),
    "npy": ("arrays", "NumPy"),
    "npz": ("arrays", "NumPy"),
    "safetensors": ("arrays", "safetensors"),
    "pth": ("arrays", "torch.save"),
    "idx": ("arrays", "CIFAR and MNIST"),
    "cifar": ("arrays", "CIFAR and MNIST"),
    "cifar-python": ("arrays", "CIFAR and MNIST"),
    "hdf5": ("arrays", "HDF5"),
    "zarr": ("arrays", "Zarr"),
    "n5": ("arrays", "N5"),
}
IN_SOURCES = {"csv", "folder"}  # formats with a section in docs/sources.md


def read(page):
    return (FORMATS / f"{page}.md").read_text()


def section(page, heading):
    parts = read(page).split(f"\n## {heading}\n")
    assert len(parts) == 2, f"docs/formats/{page}.md needs one section: ## {heading}"
    return parts[1].split("\n## ")[0]


def test_every_format_has_a_section_that_the_list_of_sources_links_to():
    table = (ROOT / "src" / "data" / "source" / "formats.cpp").read_text()
    names = set(re.findall(r'Format\{"([a-z0-9-]+)"', table))
    assert {"tar", "hdf5", "cifar-python"} <= names
    assert names - IN_SOURCES == set(SECTIONS)
    sources = (ROOT / "docs" / "sources.md").read_text()
    for page, heading in SECTIONS.values():
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        assert f"](formats/{page}.md#{anchor})" in sources
    assert "](#python-datasets)" in sources


@pytest.mark.parametrize(("page", "heading"), sorted(set(SECTIONS.values())))
def test_a_section_has_commands_and_refusals(page, heading):
    text = section(page, heading)
    assert "tundish pack" in text
    assert "TND-3" in text


@pytest.mark.parametrize("page", sorted({page for page, _ in SECTIONS.values()}))
def test_a_page_trains_from_the_files_and_has_measured_speeds(page):
    text = read(page)
    assert "tundish.Loader(" in text
    assert "\n## Speed\n" in text


def test_the_page_of_python_data_sets_has_commands_and_refusals():
    sources = (FORMATS.parent / "sources.md").read_text()
    text = sources.split("\n## Python datasets\n")[1].split("\n## ")[0]
    for word in ("tundish.pack(", "cannot train from", "TND-3"):
        assert word in text


@pytest.mark.parametrize(
    ("page", "row", "measured"),
    [
        ("records", "TFRecord, JPEGs", "TFRecord of JPEGs"),
        ("records", "TFRecord, 3,072 floats", "TFRecord of floats"),
        ("records", "LMDB, JPEGs", "LMDB of JPEGs"),
        ("records", "LMDB, Datums", "LMDB of Datums"),
        ("arrays", "HDF5, JPEGs", "HDF5 of JPEGs"),
        ("arrays", "HDF5, 200 MB in chunks", "HDF5 in chunks, gzip"),
        ("arrays", "Zarr, 200 MB in chunks", "Zarr 3, zstd"),
        ("arrays", "`.npy`", ".npy"),
    ],
)
def test_the_figures_are_the_measured_ones(page, row, measured):
    rows = read_rows(ROOT / "bench" / "results" / "sources.json")
    ratio, rate = (
        next(row["value"] for row in rows if row["contestant"] == name)
        for name in (measured, f"{measured}: tundish")
    )
    line = re.search(rf"^\| {re.escape(row)}.*", section(page, "Speed"), re.MULTILINE)[0]
    times = float(re.search(r"\| ([0-9.]+) times \|", line)[1])
    samples = float(re.search(r"\| ([0-9,]+) samples/s \|", line)[1].replace(",", ""))
    assert abs(times - ratio) <= (0.05 if times < 10 else 0.5)
    assert abs(samples / rate - 1) < 0.005
