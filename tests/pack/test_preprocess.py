"""Resizes, crops and encodes images while packing, with Pillow's pixels and files."""

import io
import subprocess

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.files import tar_of, write
from tests.helpers.program import PROGRAM, err, needs_program, result_json
from tests.helpers.program import tundish as program

pytestmark = needs_program

FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
SIZES = [(150, 100), (97, 131), (100, 100), (331, 64), (40, 50), (64, 300)]


def picture(seed, size, mode="RGB"):
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0 : size[1], 0 : size[0]]
    waves = [np.sin(x / random.uniform(3, 40) + y / random.uniform(3, 40)) * 60 for _ in range(3)]
    noise = random.normal(0, 12, (size[1], size[0], 3))
    array = np.clip(np.stack(waves, -1) + 128 + noise, 0, 255).astype(np.uint8)
    return Image.fromarray(array).convert(mode)


def coded(image, kind="JPEG", **how):
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def folder_of(root, files):
    for name, data in files.items():
        write(root / "c" / name, data)
    return root


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    files = {
        f"{i}.jpg": coded(picture(i, size), quality=95, progressive=i % 2 == 1)
        for i, size in enumerate(SIZES)
    }
    files["6.png"] = coded(picture(6, (120, 90)), "PNG")
    return folder_of(tmp_path_factory.mktemp("preprocess") / "photos", files)


def pack(source, target, *words, exit_code=0):
    return result_json("pack", source, "-o", target, *words, exit_code=exit_code)


def unpacked(target, folder):
    """Returns the bytes of every record by name."""
    result_json("unpack", target, "-o", folder)
    return {path.name: path.read_bytes() for path in sorted((folder / "c").iterdir())}


def array_of(data):
    """Returns the pixels of a record, either a .npy file or an image that Pillow reads."""
    if data.startswith(b"\x93NUMPY"):
        return np.load(io.BytesIO(data))
    return np.asarray(Image.open(io.BytesIO(data)))


def shortest(image, side, how):
    width, height = image.size
    if width <= height:
        return image.resize((side, int(side * height / width)), how)
    return image.resize((int(side * width / height), side), how)


@pytest.mark.parametrize("interpolation", FILTERS)
@pytest.mark.parametrize("reencode", ["raw", "png"])
def test_raw_and_png_records_have_pillows_pixels(photos, tmp_path, reencode, interpolation):
    words = ["--resize", "shortest=64", "--interpolation", interpolation, "--reencode", reencode]
    report = pack(photos, tmp_path / "a.tnd", *words, "--if-larger", "replace")
    files = unpacked(tmp_path / "a.tnd", tmp_path / "out")
    for path in sorted((photos / "c").iterdir()):
        image = Image.open(path).convert("RGB")
        if min(image.size) > 64:
            image = shortest(image, 64, FILTERS[interpolation])
        assert np.array_equal(array_of(files[path.name]), np.asarray(image)), path.name
    assert report["preprocess"]["changed"] == 7
    assert report["codecs"] == {"npy" if reencode == "raw" else "png": 7}


@pytest.mark.parametrize(
    ("reencode", "how"),
    [
        ("jpeg:q90", {"quality": 90}),
        ("jpeg:q35:444", {"quality": 35, "subsampling": 0}),
        ("jpeg:q100:420", {"quality": 100}),
    ],
)
@pytest.mark.parametrize("codec", ["lanes", "keep"])
def test_jpeg_records_are_the_files_that_pillow_writes(photos, tmp_path, reencode, how, codec):
    words = ["--resize", "64x48", "--enlarge", "--reencode", reencode, "--if-larger", "replace"]
    report = pack(photos, tmp_path / "a.tnd", *words, "--codec", codec)
    files = unpacked(tmp_path / "a.tnd", tmp_path / "out")
    for path in sorted((photos / "c").iterdir()):
        image = Image.open(path).convert("RGB").resize((64, 48), Image.Resampling.BILINEAR)
        assert files[path.name] == coded(image, **how), path.name
    assert report["preprocess"]["changed"] == 7


def test_large_jpeg_records_become_lanes_and_are_restored(tmp_path):
    photos = folder_of(
        tmp_path / "photos",
        {f"{i}.jpg": coded(picture(i, (500, 375)), quality=97) for i in range(3)},
    )
    report = pack(photos, tmp_path / "a.tnd", "--resize", "shortest=256")
    assert report["codecs"] == {"lanes": 3}
    assert report["preprocess"]["bytes_after"] < report["preprocess"]["bytes_before"]
    assert report["source_bytes"] == report["preprocess"]["bytes_before"]
    assert program("verify", tmp_path / "a.tnd", "--pixels").returncode == 0
    files = unpacked(tmp_path / "a.tnd", tmp_path / "out")
    for path in sorted((photos / "c").iterdir()):
        image = shortest(Image.open(path), 256, Image.Resampling.BILINEAR)
        assert files[path.name] == coded(image, quality=90)


def test_center_crop_and_longest_side_equal_pillow(photos, tmp_path):
    pack(photos, tmp_path / "a.tnd", "--center-crop", "60x32", "--reencode", "raw")
    files = unpacked(tmp_path / "a.tnd", tmp_path / "a")
    image = np.asarray(Image.open(photos / "c/0.jpg"))
    assert np.array_equal(array_of(files["0.jpg"]), image[34:66, 45:105])
    assert array_of(files["4.jpg"]).shape == (50, 40, 3)  # smaller: raw, but not padded
    pack(photos, tmp_path / "b.tnd", "--resize", "longest=90", "--reencode", "raw")
    files = unpacked(tmp_path / "b.tnd", tmp_path / "b")
    for name, shape in {"0.jpg": (60, 90), "1.jpg": (90, 66), "3.jpg": (17, 90)}.items():
        image = Image.open(photos / "c" / name).resize(shape[::-1], Image.Resampling.BILINEAR)
        assert np.array_equal(array_of(files[name]), np.asarray(image))


def batches(path, *transforms, **options):
    loader = tundish.Loader(path, batch_size=3, transforms=list(transforms), seed=5, **options)
    return [(images.numpy(), labels.numpy()) for images, labels in loader]


def test_training_gets_the_same_batches_as_with_online_preprocessing(photos, tmp_path):
    pack(photos, tmp_path / "a.tnd", "--resize", "shortest=64", "--reencode", "raw")
    resize, crop = T.Resize(64), [T.RandomCrop(40), T.RandomHorizontalFlip()]
    on_line = batches(photos, resize, *crop, shuffle=True)
    packed = batches(tmp_path / "a.tnd", resize, *crop, shuffle=True)  # resized images need no work
    assert len(on_line) == len(packed) == 3
    for (images, labels), (others, other_labels) in zip(on_line, packed, strict=True):
        assert np.array_equal(images, others)
        assert np.array_equal(labels, other_labels)


def test_the_original_is_kept_when_it_is_smaller_or_would_be_enlarged(tmp_path):
    files = {
        "rough.jpg": coded(picture(0, (300, 300)), quality=5),
        "small.jpg": coded(picture(1, (50, 70))),
        "same.jpg": coded(picture(2, (64, 90))),
        "large.jpg": coded(picture(3, (400, 300)), quality=95),
    }
    photos = folder_of(tmp_path / "photos", files)
    words = ["--resize", "shortest=64", "--reencode", "png"]
    report = pack(photos, tmp_path / "a.tnd", *words, "--if-larger", "keep")
    kept = report["preprocess"]["kept"]
    assert kept == {"would grow": 3}  # includes small and same, which would be larger as PNG
    assert report["preprocess"]["kept_smaller"] == 3
    out = unpacked(tmp_path / "a.tnd", tmp_path / "a")
    assert {name for name in files if out[name] == files[name]} == set(files) - {"large.jpg"}

    report = pack(photos, tmp_path / "b.tnd", "--resize", "shortest=64")
    kept = report["preprocess"]["kept"]
    assert kept["smaller than asked"] == 1
    assert kept["fits already"] == 1
    info = result_json("info", tmp_path / "b.tnd")
    assert info["preprocess"]["kept"] == kept
    assert info["preprocess"]["options"]["resize"] == "shortest=64"
    assert info["preprocess"]["options"]["reencode"] == "auto:q90:420"
    text = program("info", tmp_path / "b.tnd").stdout.decode()
    assert "shortest=64, auto:q90:420: " in text
    assert "smaller than asked 1" in text

    report = pack(photos, tmp_path / "c.tnd", "--resize", "64x64", "--enlarge", "--reencode", "raw")
    assert report["preprocess"]["kept"] == {}


def test_rotated_images_are_kept_or_made_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    image = picture(1, (120, 80))
    data = coded(image, exif=exif, quality=95)
    photos = folder_of(tmp_path / "photos", {"turned.jpg": data})
    words = ["--resize", "shortest=40", "--reencode", "raw"]
    report = pack(photos, tmp_path / "keep.tnd", *words)
    assert report["preprocess"]["kept"] == {"turned by EXIF": 1}
    assert unpacked(tmp_path / "keep.tnd", tmp_path / "keep")["turned.jpg"] == data
    for exif_orientation in (False, True):
        how = {"exif_orientation": exif_orientation}
        (on_line, _), *_ = batches(photos, T.Resize(40), **how)
        (packed, _), *_ = batches(tmp_path / "keep.tnd", T.Resize(40), **how)
        assert np.array_equal(on_line, packed)

    pack(photos, tmp_path / "apply.tnd", *words, "--exif-orientation", "apply")
    (on_line, _), *_ = batches(photos, T.Resize(40), exif_orientation=True)
    for exif_orientation in (False, True):  # the record is already upright
        (packed, _), *_ = batches(tmp_path / "apply.tnd", exif_orientation=exif_orientation)
        assert np.array_equal(on_line, packed)
    assert packed.shape[-2:] == (60, 40)


def test_every_kind_of_source_is_preprocessed_or_named(tmp_path):
    sixteen = Image.fromarray(np.arange(120 * 90, dtype=np.uint16).reshape(90, 120))
    files = {
        "cmyk.jpg": coded(picture(1, (120, 90)).convert("CMYK"), quality=95),
        "gray.jpg": coded(picture(2, (120, 90), "L"), quality=95),
        "gray.png": coded(picture(3, (120, 90), "L"), "PNG"),
        "opaque.png": coded(picture(4, (120, 90)).convert("RGBA"), "PNG"),
        "palette.png": coded(picture(5, (120, 90)).quantize(200), "PNG"),
        "rgba.png": coded(Image.new("RGBA", (120, 90), (1, 2, 3, 100)), "PNG"),
        "sixteen.png": coded(sixteen, "PNG"),
        "tiff.tiff": coded(picture(6, (120, 90)), "TIFF"),
    }
    photos = folder_of(tmp_path / "photos", files)
    report = pack(photos, tmp_path / "a.tnd", "--resize", "shortest=64", "--reencode", "raw")
    assert report["preprocess"]["kept"] == {
        "transparent": 1,
        "16-bit gray": 1,
        "not decodable": 1,
    }
    out = unpacked(tmp_path / "a.tnd", tmp_path / "out")
    for name, data in files.items():
        if name in ("rgba.png", "sixteen.png", "tiff.tiff"):
            assert out[name] == data
            continue
        image = Image.open(io.BytesIO(data))
        image = image.convert("L" if image.mode == "L" else "RGB")
        expected = np.asarray(shortest(image, 64, Image.Resampling.BILINEAR))
        assert np.array_equal(array_of(out[name]), expected), name

    words = ["--resize", "shortest=64", "--reencode", "jpeg:q80", "--if-larger", "replace"]
    pack(photos, tmp_path / "b.tnd", *words)
    gray = Image.open(io.BytesIO(files["gray.jpg"]))
    gray = shortest(gray, 64, Image.Resampling.BILINEAR)
    assert unpacked(tmp_path / "b.tnd", tmp_path / "b")["gray.jpg"] == coded(gray, quality=80)


@pytest.mark.parametrize("form", ["HWC", "CHW", "HW", "RGBA", "deep"])
def test_arrays_of_raw_pixels_are_preprocessed_like_files(form, tmp_path):
    """A NumPy array and a folder of PNGs with the same pixels give the same batches."""
    deep = [np.arange(30 * 20, dtype=np.uint16).reshape(20, 30) * (n + 50) for n in range(3)]
    mode = {"HW": "L", "RGBA": "RGBA"}.get(form, "RGB")
    images = [np.asarray(picture(n, (30, 20), mode)) for n in range(3)]
    images = deep if form == "deep" else images
    array = np.stack(images)
    np.save(tmp_path / "x.npy", array.transpose(0, 3, 1, 2) if form == "CHW" else array)
    files = {f"{n}.png": coded(Image.fromarray(one), "PNG") for n, one in enumerate(images)}
    photos = folder_of(tmp_path / "photos", files)
    for words in (["--reencode", "raw"], ["--reencode", "png", "--if-larger", "replace"], []):
        found = []
        for number, source in enumerate((tmp_path / "x.npy", photos)):
            target = tmp_path / f"{number}{len(words)}.tnd"
            report = pack(source, target, "--resize", "15x10", *words, "--prove")
            assert report["proof"]["different"] == []
            found.append((report, batches(target)))
        (mine, my_batches), (theirs, their_batches) = found
        if words:
            assert mine["preprocess"]["kept"] == theirs["preprocess"]["kept"]
        for (one, _), (other, _) in zip(my_batches, their_batches, strict=True):
            assert np.array_equal(one, other)
        changed = form != "deep" and not mine["preprocess"]["kept"]
        assert one.shape[-2:] == ((10, 15) if changed else (20, 30))


def test_bad_images_stay_bad_with_the_same_messages(tmp_path):
    good = coded(picture(1, (200, 150)))
    png = coded(picture(2, (200, 150)), "PNG")
    files = {
        "cut.jpg": good[: len(good) // 2],
        "cut.png": png[: len(png) // 2],
        "empty.jpg": b"",
        "good.jpg": good,
        "text.jpg": b"no image at all",
    }
    photos = folder_of(tmp_path / "photos", files)
    plain = pack(photos, tmp_path / "plain.tnd", exit_code=3)
    report = pack(photos, tmp_path / "a.tnd", "--resize", "shortest=64", exit_code=3)
    assert report["refused"] == plain["refused"]
    named = {row["key"]: row["message"] for row in report["doubtful"]}
    assert {row["key"]: row["message"] for row in plain["doubtful"]}.items() <= named.items()
    assert set(named) == {"c/cut.jpg", "c/cut.png"}  # the PNG was decoded now, so it is named
    assert report["preprocess"]["kept"]["damaged"] == 2
    out = unpacked(tmp_path / "a.tnd", tmp_path / "out")
    assert out["cut.jpg"] == files["cut.jpg"]
    assert out["cut.png"] == files["cut.png"]
    proof = pack(photos, tmp_path / "b.tnd", "--resize", "shortest=64", "--prove", exit_code=3)
    assert proof["proof"]["records"] == 3
    assert proof["proof"]["kept"] == 2


def test_the_pack_has_the_same_bytes_for_any_number_of_threads(photos, tmp_path):
    packs = []
    for threads in ("1", "2", "5"):
        target = tmp_path / f"{threads}.tnd"
        pack(photos, target, "--resize", "shortest=64", "--threads", threads)
        packs.append(target.read_bytes())
    assert packs[0] == packs[1] == packs[2]


def test_pack_preprocesses_from_python_with_a_proof(photos, tmp_path):
    report = tundish.pack(
        photos, tmp_path / "a.tnd", resize="shortest=64", reencode="png", if_larger="replace",
        prove=True, prove_samples=4,
    )  # fmt: skip
    assert report["proof"]["records"] == report["proof"]["equal"] == 4
    assert report["proof"]["different"] == []
    proof = tundish.pack(
        photos, tmp_path / "b.tnd", resize="64x48", enlarge=True, reencode="jpeg:q80", if_larger="replace", prove=True
    )["proof"]  # fmt: skip
    psnrs = []
    for path in (photos / "c").iterdir():
        image = Image.open(path).convert("RGB").resize((64, 48), Image.Resampling.BILINEAR)
        again = Image.open(io.BytesIO(coded(image, quality=80)))
        error = np.asarray(image, float) - np.asarray(again, float)
        psnrs.append(10 * np.log10(255**2 / np.mean(error**2)))
    assert proof["lossy"] == proof["records"] == 7
    assert proof["psnr_min"] == pytest.approx(min(psnrs))
    assert proof["psnr_median"] == pytest.approx(np.median(psnrs))
    assert proof["before_us"] > 0
    assert proof["after_us"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resize", "256"], "--resize wants shortest=N, longest=N or WIDTHxHEIGHT"),
        (["--resize", "shortest=0"], "--resize wants"),
        (["--resize", "10x"], "--resize wants"),
        (["--center-crop", "ax3"], "--center-crop wants"),
        (["--reencode", "jpeg:q0"], "--reencode wants"),
        (["--reencode", "jpeg:q90:422"], "--reencode wants"),
        (["--reencode", "webp"], "--reencode wants"),
        (["--resize", "9x9", "--interpolation", "lanczos"], "--interpolation is one of"),
        (["--prove"], "need --resize"),
        (["--enlarge"], "need --resize"),
    ],
)
def test_invalid_options_are_refused(photos, tmp_path, words, message):
    result = program("pack", photos, "-o", tmp_path / "a.tnd", *words)
    assert result.returncode == 2
    assert message in err(result)
    assert not (tmp_path / "a.tnd").exists()


def test_an_archive_that_is_only_scanned_is_preprocessed_and_cannot_be_proved(photos, tmp_path):
    archive = tmp_path / "photos.tar.gz"
    subprocess.run(["tar", "-czf", archive, "-C", photos, "c"], check=True, timeout=60)
    report = pack(archive, tmp_path / "a.tnd", "--resize", "shortest=64")
    assert report["preprocess"]["changed"] > 0
    result = program("pack", archive, "-o", tmp_path / "b.tnd", "--resize", "9x9", "--prove")
    assert result.returncode != 0
    assert "a second time" in err(result)
    assert PROGRAM.exists()


def masked(tmp_path, value):
    """A tar of an image with an array beside it."""
    file = io.BytesIO()
    np.save(file, value)
    members = {
        "0.png": coded(picture(1, (40, 30)), "PNG"),
        "0.cls": b"1",
        "0.mask.npy": file.getvalue(),
    }
    return tar_of(tmp_path / "a.tar", members)


@needs_program
@pytest.mark.parametrize("words", [["--resize=shortest=12"], ["--center-crop=8"]])
def test_arrays_that_no_longer_match_their_images_cause_a_warning(tmp_path, words):
    source = masked(tmp_path, np.zeros((30, 40), np.uint8))
    result = result_json("pack", source, "-o", tmp_path / "a.tnd", *words)
    (warning,) = result["warnings"]
    assert "images get another geometry, and these arrays stay as they are: mask.npy" in warning


@needs_program
def test_arrays_that_still_match_cause_no_warning(tmp_path):
    reencode = ["-o", tmp_path / "a.tnd", "--reencode=png"]
    source = masked(tmp_path, np.zeros((30, 40), np.uint8))
    assert result_json("pack", source, *reencode)["warnings"] == []
