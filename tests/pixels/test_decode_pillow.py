"""Every kind of JPEG, PNG and .npy decodes like Pillow's `Image.open(f).convert("RGB")`."""

import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.program import ROOT

SEEDS = ROOT / "fuzz" / "corpus"  # kinds that Pillow cannot write
WIDTH, HEIGHT = 61, 47  # not multiples of a block


def picture(channels: int, seed: int = 1, dtype: type = np.uint8) -> np.ndarray:
    """Smooth colors with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [np.sin(x / (3 + c) + c) + np.cos(y / (5 + c)) for c in range(channels)]
    top = np.iinfo(dtype).max
    values = (np.stack(waves, -1) + 2) / 4 * top + rng.normal(
        0, top / 30, (HEIGHT, WIDTH, channels)
    )
    return np.clip(values, 0, top).astype(dtype)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(depth: int, color: int, rows: np.ndarray, *extra: bytes, width: int = WIDTH) -> bytes:
    """Returns a PNG from the bytes of each row, unfiltered, including kinds Pillow cannot write."""
    raw = np.concatenate([np.zeros((len(rows), 1), np.uint8), rows], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, len(rows), depth, color, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            *extra,
            chunk(b"IDAT", zlib.compress(raw)),
            chunk(b"IEND", b""),
        ]
    )


def jpegs(folder: Path) -> None:
    rgb = Image.fromarray(picture(3))
    for sampling in ("4:4:4", "4:2:2", "4:2:0"):
        for progressive in (False, True):
            name = f"{sampling.replace(':', '')}-{'progressive' if progressive else 'baseline'}.jpg"
            rgb.save(folder / name, subsampling=sampling, progressive=progressive, quality=88)
    rgb.save(folder / "optimized.jpg", optimize=True, quality=97)
    rgb.save(folder / "restarts.jpg", restart_marker_blocks=3)
    rgb.save(folder / "rgb.jpg", keep_rgb=True)
    Image.fromarray(picture(1)[..., 0]).save(folder / "gray.jpg")
    Image.fromarray(picture(4), "CMYK").save(folder / "cmyk.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6
    rgb.save(folder / "turned.jpg", exif=exif)
    rgb.save(folder / "png_by_name.png")
    (folder / "png_by_name.png").rename(folder / "really_a_png.jpg")


def pngs(folder: Path) -> None:
    rgb = Image.fromarray(picture(3))
    rgb.save(folder / "rgb.png")
    Image.fromarray(picture(4)).save(folder / "rgba.png")
    Image.fromarray(picture(2), "LA").save(folder / "gray_alpha.png")
    gray = Image.fromarray(picture(1)[..., 0])
    gray.save(folder / "gray.png")
    gray.convert("1").save(folder / "bilevel.png")
    Image.fromarray(picture(1, dtype=np.uint16)[..., 0]).save(folder / "gray16.png")
    dark = (picture(1, dtype=np.uint16)[..., 0] >> 7).astype(
        np.uint16
    )  # around 255: clipped, not scaled
    Image.fromarray(dark).save(folder / "gray16_dark.png")
    rgb.quantize(200).save(folder / "palette.png")
    rgb.quantize(11).save(folder / "palette4.png", bits=4)
    rgb.quantize(7).save(folder / "palette_transparent.png", transparency=3)

    def sixteen(channels: int) -> np.ndarray:
        return picture(channels, dtype=np.uint16).astype(">u2").reshape(HEIGHT, -1).view(np.uint8)

    bits = picture(1, seed=5)[:, : (WIDTH + 3) // 4, 0]
    files = {
        "rgb16": png(16, 2, sixteen(3)),
        "rgba16": png(16, 6, sixteen(4)),
        "gray_alpha16": png(16, 4, sixteen(2)),
        "gray2": png(2, 0, bits),
        "gray4_key": png(4, 0, bits, chunk(b"tRNS", b"\0\3"), width=2 * bits.shape[1]),
        "rgb_key": png(8, 2, picture(3).reshape(HEIGHT, -1), chunk(b"tRNS", bytes(6))),
        "gamma": png(
            8, 2, picture(3).reshape(HEIGHT, -1), chunk(b"gAMA", struct.pack(">I", 20000))
        ),
        "palette_short": png(8, 3, bits, chunk(b"PLTE", bytes(range(60))), width=bits.shape[1]),
    }
    for name, data in files.items():
        (folder / f"{name}.png").write_bytes(data)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image folder with one file of each kind."""
    root = tmp_path_factory.mktemp("kinds")
    for name in ("jpeg", "png", "seeds"):
        (root / name).mkdir()
    jpegs(root / "jpeg")
    pngs(root / "png")
    for seed in [*SEEDS.glob("jpeg/*.jpg"), *SEEDS.glob("png/*.png")]:
        (root / "seeds" / seed.name).write_bytes(seed.read_bytes())
    return root


def files_of(root: Path) -> list[Path]:
    """Returns the files in the order of the samples."""
    return [file for folder in sorted(root.iterdir()) for file in sorted(folder.iterdir())]


def by_pillow(file: Path) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "should be converted to RGBA"
        with Image.open(file) as image:
            return np.asarray(image.convert("RGB"))


def test_every_kind_decodes_to_the_pixels_of_pillow(kinds: Path) -> None:
    files = files_of(kinds)
    dataset = tundish.Dataset(kinds)
    assert len(dataset) == len(files) > 40
    for i, file in enumerate(files):
        image, _ = dataset[i]
        np.testing.assert_array_equal(image, by_pillow(file), err_msg=str(file))


def test_a_crop_of_every_kind_equals_the_crop_of_the_whole(kinds: Path) -> None:
    files = [f for f in files_of(kinds) if min(by_pillow(f).shape[:2]) >= 20]
    loader = tundish.Loader(
        kinds,
        batch_size=1,
        transforms=[T.CenterCrop(20)],
        shuffle=False,
        threads=1,
        return_index=True,
        on_error="skip",
    )
    every = files_of(kinds)
    seen = set()
    for images, _, index in loader:
        file = every[int(index[0])]
        if file not in files:  # smaller than the crop, so it would be padded
            continue
        seen.add(file)
        whole = by_pillow(file)
        top = round((whole.shape[0] - 20) / 2.0)
        left = round((whole.shape[1] - 20) / 2.0)
        crop = whole[top : top + 20, left : left + 20]
        np.testing.assert_array_equal(np.asarray(images)[0].transpose(1, 2, 0), crop, str(file))
    assert seen == set(files)


def test_the_orientation_is_applied_only_on_request(kinds: Path) -> None:
    file = kinds / "jpeg" / "turned.jpg"
    number = files_of(kinds).index(file)
    as_stored, _ = tundish.Dataset(kinds)[number]
    upright, _ = tundish.Dataset(kinds, exif_orientation=True)[number]
    assert as_stored.shape == (HEIGHT, WIDTH, 3)
    np.testing.assert_array_equal(upright, np.rot90(as_stored, -1))


@pytest.mark.parametrize("shape", [(HEIGHT, WIDTH), (HEIGHT, WIDTH, 1), (HEIGHT, WIDTH, 3)])
def test_arrays_are_images_too(tmp_path: Path, shape: tuple[int, ...]) -> None:
    (tmp_path / "a").mkdir()
    array = picture(3)[..., : shape[2] if len(shape) == 3 else 1].reshape(shape).copy()
    np.save(tmp_path / "a" / "array.npy", array)
    image, _ = tundish.Dataset(tmp_path)[0]
    expected = array if shape[2:] == (3,) else np.repeat(array.reshape(HEIGHT, WIDTH, 1), 3, axis=2)
    np.testing.assert_array_equal(image, expected)


def damaged() -> dict[str, tuple[bytes, str]]:
    """Files that Pillow also refuses, with the code of the reason."""
    jpeg = (SEEDS / "jpeg" / "420.jpg").read_bytes()
    good = png(8, 2, picture(3).reshape(HEIGHT, -1))
    frame = jpeg.index(b"\xff\xc0")
    return {
        "html.jpg": (b"<!DOCTYPE html><title>404</title>", "TND-401"),
        "zeros.jpg": (bytes(1000), "TND-401"),
        "cut.jpg": (jpeg[: len(jpeg) // 2], "TND-406"),
        "cut_header.jpg": (jpeg[:100], "TND-406"),
        "marker_in_data.jpg": (jpeg[:-200] + b"\xff\x02" + jpeg[-198:], "TND-405"),
        "no_height.jpg": (jpeg[: frame + 5] + b"\0\0" + jpeg[frame + 7 :], "TND-403"),
        "twelve_bits.jpg": (jpeg[: frame + 4] + b"\x0c" + jpeg[frame + 5 :], "TND-402"),
        "cut.png": (good[: len(good) // 2], "TND-406"),
        "bad_header.png": (good[:20] + b"\xff" + good[21:], "TND-40"),
        "bomb.png": (good[:16] + struct.pack(">II", 60000, 60000) + good[24:], "TND-404"),
    }


@pytest.mark.parametrize("name", damaged())
def test_files_that_pillow_refuses_are_refused_and_named(tmp_path: Path, name: str) -> None:
    data, code = damaged()[name]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_bytes(data)
    with pytest.raises(Exception), Image.open(tmp_path / "a" / name) as image:  # noqa: B017
        image.convert("RGB")
    with pytest.raises(tundish.SampleError, match=rf"{code}.*{name}"):
        tundish.Dataset(tmp_path)[0]
