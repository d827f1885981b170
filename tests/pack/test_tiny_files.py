"""Small files that claim huge contents are opened or refused with little work and memory.

`./dev siege tiny` opens thousands of such files and measures their CPU time.
"""

import json

import pytest

from tests.helpers.array_files import unzip
from tests.helpers.peak_memory import peak_memory
from tests.helpers.program import err, needs_program
from tests.helpers.program import tundish as program
from tests.siege import tiny_files

pytestmark = needs_program
MIB = 1 << 20
GUARD_S = 60  # CPU seconds; opening takes under 2, and took minutes without bounds
ENDED = (0, 1, 3)  # opened or refused
SEEDS = range(6)


def check(paths):
    for path in paths:
        peak = peak_memory("info", path, exit_codes=ENDED, cpu_limit_s=GUARD_S)
        assert peak < 512 * MIB, path


@pytest.mark.parametrize("name", sorted(set(tiny_files.MAKERS) - {"hdf5"}))
def test_small_files_that_claim_huge_contents_take_little_memory(name, tmp_path):
    check(tiny_files.make(name, seed, tmp_path / str(seed)) for seed in SEEDS)


def test_small_hdf5_files_that_claim_huge_contents_take_little_memory(tmp_path):
    """The files are those of tests/formats/hdf5/make_tiny.py."""
    paths = sorted(unzip("hdf5/tiny.zip", tmp_path).rglob("*.h5"))
    assert len(paths) > 30
    check(paths)


def write_declared(folder, form, samples, chunk):
    """Writes metadata of images, and of labels in chunks that were never stored."""
    for name, shape, block in (
        ("image", [samples, 2, 2], [1_000_000, 2, 2]),
        ("label", [samples], [chunk]),
    ):
        (folder / name).mkdir(parents=True)
        if form == "zarr":
            about = {"zarr_format": 2, "shape": shape, "chunks": block, "dtype": "|u1"}
            about |= {"compressor": None, "fill_value": 0, "order": "C", "filters": None}
            (folder / name / ".zarray").write_text(json.dumps(about))
        else:
            about = {"dimensions": shape[::-1], "blockSize": block[::-1], "dataType": "uint8"}
            about["compression"] = {"type": "raw"}
            (folder / name / "attributes.json").write_text(json.dumps(about))
    head = {"zarr": (".zgroup", {"zarr_format": 2}), "n5": ("attributes.json", {"n5": "2.0.0"})}
    (folder / head[form][0]).write_text(json.dumps(head[form][1]))
    return folder


@pytest.mark.parametrize("chunk", [1, 1_000_000])
@pytest.mark.parametrize("form", ["zarr", "n5"])
def test_samples_are_limited_by_the_stored_bytes(form, chunk, tmp_path):
    """Reading 50 million labels of chunks that are not stored took minutes."""
    path = write_declared(tmp_path / f"d.{form}", form, 50_000_000, chunk)
    result = program("info", path)
    assert result.returncode != 0
    assert "50,000,000 samples in so few bytes, at most 1,000,000 are read" in err(result)
    with (path / "image" / "0.0.0").open("wb") as file:
        file.truncate(4_000_000)
    (path / "other").symlink_to(".")  # is not counted again
    result = program("info", path)
    assert "at most 32,0" in err(result)
