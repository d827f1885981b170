"""`tundish info --stats` compared with the same figures from Pillow and NumPy."""

import io
import re
import tarfile

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.files import jpeg, write
from tests.helpers.program import (
    documented_keys,
    err,
    error_of,
    needs_program,
    out,
    result_json,
)
from tests.helpers.program import (
    tundish as program,
)

pytestmark = needs_program


def coded(pixels, form, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, form, **options)
    return file.getvalue()


def exif_of(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """JPEGs, PNGs and a gray image of different sizes, in two classes."""
    folder = tmp_path_factory.mktemp("stats") / "photos"
    rng = np.random.default_rng(5)
    for i in range(12):
        height, width = rng.integers(20, 200, 2)
        pixels = rng.integers(0, 256, (height, width, 3), np.uint8) // (1 + i % 3)
        form = "PNG" if i % 4 == 0 else "JPEG"
        options = {"exif": exif_of(6)} if i == 1 else {}
        write(folder / f"c{i % 2}/{i:02}.{form.lower()}", coded(pixels, form, **options))
    write(folder / "c1/gray.jpeg", coded(rng.integers(0, 256, (31, 57), np.uint8), "JPEG"))
    return folder


def slowly(files):
    """Computes sums and sizes with Pillow and NumPy."""
    images = [np.asarray(Image.open(file).convert("RGB")).astype(np.uint64) for file in files]
    levels = np.concatenate([image.reshape(-1, 3) for image in images])
    return {
        "pixels": len(levels),
        "sum": levels.sum(0).tolist(),
        "squares": (levels**2).sum(0).tolist(),
        "mean": levels.mean(0) / 255,
        "std": levels.std(0) / 255,
        "sizes": [image.shape[1::-1] for image in images],
    }


def same(found, expected):
    assert found["images"] == len(expected["sizes"])
    for key in ("pixels", "sum", "squares"):
        assert found[key] == expected[key]
    for key in ("mean", "std"):
        np.testing.assert_allclose(found[key], expected[key], rtol=0, atol=1e-12)
    for key, side in (("width", 0), ("height", 1)):
        values = sorted(size[side] for size in expected["sizes"])
        middle = values[len(values) // 2]
        assert found[key] == {"min": values[0], "median": middle, "max": values[-1]}


@pytest.fixture(scope="module")
def packed(mixed, tmp_path_factory):
    target = tmp_path_factory.mktemp("stats") / "mixed.tnd"
    tundish.pack(mixed, target, progress=False)
    return target


def test_the_figures_are_those_of_pillow_and_numpy(mixed, packed):
    expected = slowly(sorted(mixed.rglob("*.*")))
    found = result_json("info", "--stats", mixed)
    assert set(found) == documented_keys("info", "--stats")
    same(found, expected)
    same(result_json("info", "--stats", packed), expected)
    assert found["codecs"] == {"jpeg": 10, "png": 3}
    assert found["bad"] == []
    bins = found["shorter_side"]["histogram"]
    shorter = [min(size) for size in expected["sizes"]]
    assert [one["count"] for one in bins] == [
        sum(one["from"] <= side <= one["to"] for side in shorter) for one in bins
    ]
    assert sum(one["count"] for one in bins) == 13
    areas = [width * height for width, height in expected["sizes"]]
    for key, area in (("smallest", min(areas)), ("largest", max(areas))):
        assert found[key]["width"] * found[key]["height"] == area
        with Image.open(mixed / found[key]["key"]) as image:
            assert image.size == (found[key]["width"], found[key]["height"])


def test_mode_l_gives_the_levels_of_one_channel(mixed, packed):
    images = [np.asarray(Image.open(file).convert("L")) for file in sorted(mixed.rglob("*.*"))]
    levels = np.concatenate([image.ravel() for image in images]).astype(np.uint64)
    found = result_json("info", "--stats", packed, "--mode", "L")
    assert found["mode"] == "L"
    assert (found["pixels"], found["sum"]) == (len(levels), [levels.sum()])
    assert found["squares"] == [(levels**2).sum()]
    np.testing.assert_allclose(found["mean"], [levels.mean() / 255], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["std"], [levels.std() / 255], rtol=0, atol=1e-12)
    assert found["normalize"] == (
        f"T.Normalize(mean={levels.mean() / 255:.6g}, std={levels.std() / 255:.6g})"
    )
    transforms = [T.CenterCrop(16), eval(found["normalize"])]
    tundish.Loader(packed, mode="L", transforms=transforms)
    result = program("info", "--stats", packed, "--mode", "CMYK")
    assert result.returncode == 2
    assert "--mode: CMYK is neither RGB nor L" in err(result)


def test_the_number_of_threads_changes_nothing(packed):
    results = [result_json("info", "--stats", packed, "--threads", n) for n in ("1", "2", "7")]
    for one in results:
        one.pop("seconds")
    assert results[0] == results[1] == results[2]


def test_a_compressed_archive_gives_the_same(mixed, tmp_path):
    with tarfile.open(tmp_path / "photos.tar.gz", "w:gz") as archive:
        archive.add(mixed, arcname=".")
    found = result_json("info", "--stats", tmp_path / "photos.tar.gz")
    same(found, slowly(sorted(mixed.rglob("*.*"))))
    some = result_json("info", "--stats", tmp_path / "photos.tar.gz", "--samples", "5")
    assert some["looked_at"] == some["images"] == 5


def test_samples_selects_evenly_spaced_images(mixed):
    files = sorted(mixed.rglob("*.*"))
    found = result_json("info", "--stats", mixed, "--samples", "4")
    assert (found["records"], found["looked_at"]) == (13, 4)
    same(found, slowly([files[k * 13 // 4] for k in range(4)]))
    assert "an evenly spaced part of 13" in out(program("info", "--stats", mixed, "--samples", "4"))
    same(result_json("info", "--stats", mixed, "--samples", "1000"), slowly(files))


def test_exif_orientation_swaps_sizes_but_keeps_levels(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (20, 50, 3), np.uint8)
    write(tmp_path / "set/c/a.jpg", coded(pixels, "JPEG", exif=exif_of(6)))
    stored = result_json("info", "--stats", tmp_path / "set")
    turned = result_json("info", "--stats", tmp_path / "set", "--exif-orientation")
    assert (stored["largest"]["width"], stored["largest"]["height"]) == (50, 20)
    assert (turned["largest"]["width"], turned["largest"]["height"]) == (20, 50)
    assert stored["sum"] == turned["sum"]


def test_bad_images_are_named_and_left_out(mixed, tmp_path):
    whole = coded(np.random.default_rng(2).integers(0, 256, (90, 90, 3), np.uint8), "JPEG")
    write(tmp_path / "set/c/a.jpg", jpeg())
    write(tmp_path / "set/c/cut.jpg", whole[: len(whole) // 2])
    write(tmp_path / "set/c/text.jpg", b"this is no image")
    found = result_json("info", "--stats", tmp_path / "set")
    same(found, slowly([tmp_path / "set/c/a.jpg"]))
    assert found["looked_at"] == 3
    assert [(one["key"], one["code"]) for one in found["bad"]] == [
        ("c/cut.jpg", "TND-406"),
        ("c/text.jpg", "TND-401"),
    ]
    text = out(program("info", "--stats", tmp_path / "set"))
    assert "2 of 3, left out" in text
    assert "c/cut.jpg" in text
    nothing = write(tmp_path / "bad/c/text.jpg", b"this is no image").parents[1]
    found = result_json("info", "--stats", nothing, exit_code=3)
    assert (found["mean"], found["normalize"], found["width"], found["smallest"]) == (None,) * 4
    assert "1 of 1, left out" in out(program("info", "--stats", nothing))


def test_the_line_to_paste_is_a_transform(packed):
    found = result_json("info", "--stats", packed)
    made = eval(found["normalize"], {"T": T})
    np.testing.assert_allclose(made.mean, found["mean"], rtol=1e-5)
    np.testing.assert_allclose(made.std, found["std"], rtol=1e-5)
    text = out(program("info", "--stats", packed))
    assert re.search(r"^  paste +(.*)$", text, re.M)[1] == found["normalize"]
    assert re.search(r"^ +\d+ to \d+ +\d+  #+$", text, re.M)
    assert program("info", "--stats", packed, "--quiet").stdout == b""


def test_a_single_color_gives_no_line_to_paste(tmp_path):
    write(tmp_path / "set/c/a.png", coded(np.full((4, 5, 3), 51, np.uint8), "PNG"))
    found = result_json("info", "--stats", tmp_path / "set")
    assert found["mean"] == [0.2, 0.2, 0.2]
    assert (found["std"], found["normalize"]) == ([0, 0, 0], None)
    assert "divide by a std of 0" in out(program("info", "--stats", tmp_path / "set"))


def test_invalid_usage_suggests_a_fix(tmp_path):
    result = program("info", "--stats", tmp_path, "--samples", "0")
    assert result.returncode == 2
    assert "'0' is not a whole number from 1" in err(result)
    error_of("info", "--stats", tmp_path / "nothing", exit_code=1)
