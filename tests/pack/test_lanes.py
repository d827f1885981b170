"""Packs of re-coded JPEGs restore the same files and the same pixels for every kind of JPEG."""

import io
import json
import subprocess
import warnings

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.program import PROGRAM, needs_program
from tests.helpers.readers import reader

pytestmark = needs_program

SAMPLINGS = ("4:4:4", "4:2:2", "4:2:0")
EXIF = Image.Exif()
EXIF[0x0112] = 6  # a rotation


def tundish_json(*words):
    result = subprocess.run(
        [PROGRAM, *words, "--json"], capture_output=True, text=True, timeout=120
    )
    assert result.returncode in (0, 3), result.stderr
    return json.loads(result.stdout)


def picture(seed, width, height, mode="RGB"):
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / random.uniform(3, 40) + y / random.uniform(3, 40)) * 60 for _ in range(3)]
    noise = random.normal(0, random.uniform(0, 20), (height, width, 3))
    array = np.clip(np.stack(waves, -1) + 128 + noise, 0, 255).astype(np.uint8)
    return Image.fromarray(array).convert(mode)


def coded(image, **how):
    file = io.BytesIO()
    image.save(file, "JPEG", **how)
    return file.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """JPEGs of every sampling and kind, CMYK, a PNG, metadata, odd sizes, and trailing garbage."""
    root = tmp_path_factory.mktemp("lanes") / "photos"
    (root / "a").mkdir(parents=True)
    files = {}
    for number, sampling in enumerate(SAMPLINGS * 4):
        image = picture(number, 30 + 17 * number, 150 - 9 * number)
        how = {"quality": 40 + 5 * number, "subsampling": sampling}
        how |= {"progressive": number % 3 == 1, "optimize": number % 2 == 1}
        if number % 4 == 2:
            how["restart_marker_blocks"] = 5
        if number == 7:
            how |= {"exif": EXIF, "comment": b"a comment"}
        files[f"{number:02}.jpg"] = coded(image, **how)
    files["20.jpg"] = coded(picture(20, 99, 77, "L"), quality=70)
    files["21.jpg"] = coded(picture(21, 50, 50, "CMYK"))
    files["22.jpg"] = coded(picture(22, 64, 64)) + b"what comes after"
    files["23.jpg"] = coded(picture(23, 300, 200))[:-600]
    png = io.BytesIO()
    picture(24, 40, 30).save(png, "PNG")
    files["24.png"] = png.getvalue()
    for name, data in files.items():
        (root / "a" / name).write_bytes(data)
    return root


@pytest.fixture(scope="module", params=["train", "builtin"])
def pack(request, folder):
    target = folder.parent / f"{request.param}.tnd"
    report = tundish_json(
        "pack", folder, "-o", target, "--lanes-tables", request.param, "--max-growth", "3"
    )
    assert report["codecs"] == {"jpeg": 2, "lanes": 14, "png": 1}
    assert report["lanes"]["kept"] == {"CMYK": 1, "corrupt": 1}
    return target


def test_every_file_is_restored_byte_for_byte(folder, pack, tmp_path):
    tundish_json("unpack", pack, "-o", tmp_path / "back")
    for file in sorted((folder / "a").iterdir()):
        assert (tmp_path / "back/a" / file.name).read_bytes() == file.read_bytes(), file.name
    first = subprocess.run(
        [PROGRAM, "unpack", pack, "--record", "0"], capture_output=True, check=True
    ).stdout
    assert first == (folder / "a/00.jpg").read_bytes()


def test_the_pixels_equal_pillows(folder, pack):
    dataset = tundish.Dataset(str(pack))
    for number, file in enumerate(sorted((folder / "a").iterdir())):
        if file.name == "23.jpg":
            continue
        expected = np.asarray(Image.open(file).convert("RGB"))
        assert np.array_equal(np.asarray(dataset[number][0]), expected), file.name


@pytest.mark.filterwarnings("ignore:a bad sample")
def test_a_loader_gives_the_same_batches_from_jpegs_and_from_lanes(folder, pack, tmp_path):
    kept = tmp_path / "kept.tnd"
    tundish_json("pack", folder, "-o", kept, "--codec", "keep")
    transforms = [T.RandomResizedCrop(32), T.RandomHorizontalFlip()]
    how = {
        "batch_size": 4,
        "transforms": transforms,
        "shuffle": True,
        "seed": 5,
        "on_error": "skip",
    }
    for exif_orientation in (False, True):
        loaders = [
            tundish.Loader(str(p), exif_orientation=exif_orientation, **how) for p in (kept, pack)
        ]
        for (a, _), (b, _) in zip(*loaders, strict=True):
            assert np.array_equal(np.asarray(a), np.asarray(b))


def test_a_pack_of_a_pack_holds_the_same(pack, tmp_path):
    again = tmp_path / "again.tnd"
    tables = "train" if "train" in pack.name else "builtin"
    tundish_json("pack", pack, "-o", again, "--lanes-tables", tables, "--max-growth", "3")
    assert tundish_json("info", again)["id"] == tundish_json("info", pack)["id"]


def test_the_reference_reader_in_python_agrees(folder, pack):
    read_lanes, read_tnd = reader("read_lanes"), reader("read_tnd")

    with open(pack, "rb") as file:
        packed = read_tnd.Pack(file)
        tables = read_lanes.Tables(packed.tables)
        for number in (0, 3, 12):
            image = Image.open(folder / "a" / packed.keys[number].decode().split("/")[1])
            components = read_lanes.read_record(packed[number][b"image"], tables)
            # A luma block's DC is the mean of its pixels, up to half a quantization step and
            # rounding.
            luma = np.asarray(image.convert("L") if image.mode == "L" else image.convert("YCbCr"))
            luma = luma if luma.ndim == 2 else luma[:, :, 0]
            step = image.quantization[0][0]
            rows, columns = luma.shape[0] // 8, luma.shape[1] // 8
            means = luma[: 8 * rows, : 8 * columns].reshape(rows, 8, columns, 8).mean((1, 3))
            dc = components[0][:rows, :columns, 0] * step / 8 + 128
            assert np.abs(dc.clip(0, 255) - means).mean() < 1.5


def test_stripped_packs_have_no_metadata_and_the_same_pixels(folder, tmp_path):
    target = tmp_path / "stripped.tnd"
    tundish_json("pack", folder, "-o", target, "--strip-metadata", "--max-growth", "3")
    tundish_json("unpack", target, "-o", tmp_path / "back")
    name = "07.jpg"
    back = (tmp_path / "back/a" / name).read_bytes()
    assert b"a comment" not in back
    assert list(Image.open(io.BytesIO(back)).getexif()) == [0x0112]  # the orientation alone
    assert b"a comment" in (folder / "a" / name).read_bytes()
    pixels = [
        np.asarray(Image.open(io.BytesIO(d))) for d in (back, (folder / "a" / name).read_bytes())
    ]
    assert np.array_equal(*pixels)
    words = ["--from", "7", "--samples", "1"]
    assert tundish_json("info", "--list", target, *words)["codec"] == "lanes"


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_stripped_jpeg_keeps_its_orientation_when_it_is_packed_again(orientation, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = orientation
    (tmp_path / "a").mkdir()
    Image.new("RGB", (40, 24), (9, 99, 199)).save(tmp_path / "a/1.jpg", exif=exif, comment="secret")
    words = ["--strip-metadata", "--max-growth", "9"]
    tundish_json("pack", tmp_path / "a", "-o", tmp_path / "1.tnd", *words)
    assert tundish_json("info", "--list", tmp_path / "1.tnd")["codec"] == "lanes"
    tundish_json("pack", tmp_path / "1.tnd", "-o", tmp_path / "2.tnd")
    tundish_json("convert", tmp_path / "1.tnd", "-o", tmp_path / "3", "--to", "folder")
    with Image.open(tmp_path / "3/1.jpg") as image:
        assert image.getexif().get(0x0112, 1) == orientation
        assert len(image.getexif()) == (orientation > 1)
    wanted = (40, 24, 3) if orientation >= 5 else (24, 40, 3)
    for path in ("1.tnd", "2.tnd", "3"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # images without labels
            data = tundish.Dataset(tmp_path / path, exif_orientation=True)
        assert data[0][0].shape == wanted
    assert b"secret" not in (tmp_path / "3/1.jpg").read_bytes()


def test_a_jpeg_that_would_grow_is_stored_unchanged(folder, tmp_path):
    report = tundish_json("pack", folder, "-o", tmp_path / "a.tnd", "--max-growth", "0.01")
    assert report["lanes"]["kept"]["growth"] == 14
    assert tundish_json("info", tmp_path / "a.tnd")["codecs"] == {"jpeg": 16, "png": 1}


def test_damage_in_a_record_is_found_when_it_is_loaded(pack, tmp_path):
    rows = [
        tundish_json("info", "--list", pack, "--from", str(n), "--samples", "1") for n in range(3)
    ]
    assert [row["codec"] for row in rows] == ["lanes"] * 3
    data = bytearray(pack.read_bytes())
    data[64 + rows[0]["bytes"] // 2] ^= 4  # inside the first record
    (tmp_path / "damaged.tnd").write_bytes(data)
    dataset = tundish.Dataset(str(tmp_path / "damaged.tnd"))
    with pytest.raises(tundish.Error, match="TND-203"):
        dataset[0]
    dataset[1]


@pytest.mark.parametrize(
    "words",
    [
        ["--codec", "huffman"],
        ["--lanes-tables", "no"],
        ["--max-growth", "x"],
        ["--max-growth", "-1"],
    ],
)
def test_wrong_options_are_explained(folder, tmp_path, words):
    result = subprocess.run(
        [PROGRAM, "pack", folder, "-o", tmp_path / "a.tnd", *words], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert words[0] in result.stderr
