"""Every kind of WebP, BMP and GIF decodes to Pillow's `convert("RGB")` and `convert("RGBA")`."""

import io
import json
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.program import needs_program, out
from tests.helpers.program import tundish as program

WIDTH, HEIGHT = 61, 47


def picture(channels: int, seed: int = 1, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Image.Image:
    """Smooth colors with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : size[1], 0 : size[0]]
    waves = [np.sin(x / (3 + c) + c) * np.cos(y / (5 + c)) for c in range(channels)]
    values = 127 + 100 * np.stack(waves, -1) + rng.normal(0, 20, (size[1], size[0], channels))
    array = np.clip(values, 0, 255).astype(np.uint8)
    return Image.fromarray(array if channels > 1 else array[..., 0])


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def webps() -> dict[str, bytes]:
    files = {}
    for channels in (3, 4):
        for lossless in (False, True):
            for number, method in enumerate((0, 3, 6)):
                options = {"lossless": lossless, "method": method, "quality": 20 + 30 * number}
                image = picture(channels, number, (WIDTH - number, HEIGHT + number))
                files[f"{channels}-{lossless}-{method}"] = encoded(image, "WEBP", **options)
    clear = picture(4)
    clear.putalpha(picture(1, 9).point(lambda v: 255 if v > 128 else 0))
    files["exact"] = encoded(clear, "WEBP", lossless=True, exact=True)
    files["inexact"] = encoded(clear, "WEBP", lossless=True)
    files["one-pixel"] = encoded(picture(3, size=(1, 1)), "WEBP")
    more = [picture(4, seed) for seed in (2, 3)]
    files["animated"] = encoded(picture(4), "WEBP", save_all=True, append_images=more)
    part = Image.new("RGBA", (WIDTH, HEIGHT))  # the writer crops the empty border
    part.paste(picture(4, size=(20, 10)), (8, 6))
    files["part"] = encoded(part, "WEBP", save_all=True, append_images=more)
    exif = Image.Exif()
    exif[0x0112] = 6
    files["turned"] = encoded(picture(3), "WEBP", exif=exif)
    return files


def bmp(
    bits: int,
    size: tuple[int, int] = (13, 7),
    header: int = 40,
    compression: int = 0,
    masks: tuple[int, ...] = (),
    palette: bytes = b"",
    top_down: bool = False,
    pixels: bytes | None = None,
) -> bytes:
    """Returns a BMP of random pixels, including kinds that Pillow cannot write."""
    rng = np.random.default_rng(bits + header)
    width, height = size
    if bits <= 8 and not palette:
        palette = rng.bytes((3 if header == 12 else 4) << bits)
    colors = 0 if header == 12 else len(palette) // 4
    if header == 12:
        head = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        rows = 2**32 - height if top_down else height
        head = struct.pack(
            "<IIIHHIIIIII", header, width, rows, 1, bits, compression, 0, 1, 1, colors, 0
        )
        fields = struct.pack(f"<{len(masks)}I", *masks)
        head += fields[:12] if header == 40 else fields[: header - 40].ljust(header - 40, b"\0")
    if pixels is None:
        pixels = rng.bytes((width * bits + 31) // 32 * 4 * height)
    start = 14 + len(head) + len(palette)
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, start) + head + palette + pixels


def runs(size: tuple[int, int], four_bits: bool) -> bytes:
    """Returns rows of runs and literals, some rows moved to the right."""
    rng = np.random.default_rng(7)
    coded = b""
    for row in range(size[1]):
        coded += bytes([5, int(rng.integers(256))])
        if row % 3 == 2:
            coded += b"\0\2\2\0"
        literals = rng.bytes(2 if four_bits else 4)
        coded += bytes([0, 4]) + literals
        coded += bytes([9, 0x12, 0, 0]) if row % 2 else b"\0\0"
    return coded + b"\0\1"


def bmps() -> dict[str, bytes]:
    files = {f"{bits}-bits": bmp(bits) for bits in (1, 4, 8, 16, 24, 32)}
    files |= {f"{bits}-bits-top-down": bmp(bits, top_down=True) for bits in (1, 8, 24)}
    files |= {f"{bits}-bits-os2": bmp(bits, header=12) for bits in (1, 4, 8, 24)}
    layouts = [
        (0xFF0000, 0xFF00, 0xFF, 0),
        (0xFF000000, 0xFF0000, 0xFF00, 0),
        (0xFF000000, 0xFF00, 0xFF, 0),
        (0xFF000000, 0xFF0000, 0xFF00, 0xFF),
        (0xFF, 0xFF00, 0xFF0000, 0xFF000000),
        (0xFF0000, 0xFF00, 0xFF, 0xFF000000),
        (0xFF000000, 0xFF00, 0xFF, 0xFF0000),
        (0, 0, 0, 0),
    ]
    for number, masks in enumerate(layouts):
        for header in (56, 108, 124):
            name = f"fields-{number}-{header}"
            files[name] = bmp(32, header=header, compression=3, masks=masks)
    files["565"] = bmp(16, compression=3, masks=(0xF800, 0x7E0, 0x1F))
    files["555"] = bmp(16, header=52, compression=3, masks=(0x7C00, 0x3E0, 0x1F))
    files["few-colors"] = bmp(8, palette=np.random.default_rng(1).bytes(4 * 9))
    files["grays"] = bmp(8, palette=b"".join(bytes([i, i, i, 0]) for i in range(256)))
    files["black-and-white"] = bmp(1, palette=bytes(4) + b"\xff\xff\xff\0")
    files["white-and-black"] = bmp(1, palette=b"\xff\xff\xff\0" + bytes(4))
    files["runs-8"] = bmp(8, (20, 9), compression=1, pixels=runs((20, 9), False))
    files["runs-4"] = bmp(4, (20, 9), compression=2, pixels=runs((20, 9), True))
    files["by-pillow"] = encoded(picture(4), "BMP")
    return files


def gifs() -> dict[str, bytes]:
    files = {}
    for colors in (2, 7, 16, 256):
        image = picture(3, colors).quantize(colors)
        for interlace in (0, 1):
            name = f"{colors}-{interlace}"
            files[name] = encoded(image, "GIF", interlace=interlace)
            files[f"{name}-clear"] = encoded(image, "GIF", interlace=interlace, transparency=1)
    files["gray"] = encoded(picture(1), "GIF")
    files["large"] = encoded(picture(3, size=(400, 300)).quantize(256), "GIF")
    more = [picture(3, seed).quantize(16) for seed in (2, 3)]
    files["animated"] = encoded(picture(3).quantize(9), "GIF", save_all=True, append_images=more)
    small = encoded(picture(3, size=(20, 10)).quantize(8), "GIF", transparency=3)
    at = small.index(b",\0\0\0\0\x14\0\x0a\0")
    moved = small[:at] + b",\5\0\3\0" + small[at + 5 :]
    files["grows"] = moved
    files["on-a-screen"] = moved[:6] + struct.pack("<HH", 33, 31) + moved[10:]
    files["87a"] = b"GIF87a" + files["7-0"][6:]
    return files


FILES = {"webp": webps(), "bmp": bmps(), "gif": gifs()}


def by_pillow(data: bytes, mode: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(data)) as image:
            return np.asarray(image.convert(mode))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of all files, whose names do not reveal the format."""
    root = tmp_path_factory.mktemp("formats")
    names = [(kind, name) for kind, files in FILES.items() for name in files]
    lines = ["path,label"]
    for number, (kind, name) in enumerate(names):
        (root / f"{number:04}.{kind}").write_bytes(FILES[kind][name])
        lines.append(f"{number:04}.{kind},{number}")
    (root / "list.csv").write_text("\n".join(lines) + "\n")
    return root


def contents() -> list[tuple[str, bytes]]:
    return [
        (f"{kind} {name}", data) for kind, files in FILES.items() for name, data in files.items()
    ]


def test_every_kind_decodes_to_the_pixels_of_pillow(folder: Path) -> None:
    dataset = tundish.Dataset(folder / "list.csv")
    assert len(dataset) == len(contents()) > 80
    for i, (name, data) in enumerate(contents()):
        np.testing.assert_array_equal(dataset[i][0], by_pillow(data, "RGB"), err_msg=name)


def test_alpha_equals_pillows(folder: Path) -> None:
    loader = tundish.Loader(
        folder / "list.csv", 1, shuffle=False, mode="RGBA", return_index=True, threads=1
    )
    with_alpha = 0
    for images, _, index in loader:
        name, data = contents()[int(index[0])]
        expected = by_pillow(data, "RGBA")
        with_alpha += int((expected[..., 3] < 255).any())
        found = np.asarray(images)[0].transpose(1, 2, 0)
        np.testing.assert_array_equal(found, expected, err_msg=name)
    assert with_alpha > 25


def test_a_crop_equals_the_crop_of_the_whole(folder: Path) -> None:
    loader = tundish.Loader(
        folder / "list.csv",
        1,
        transforms=[T.CenterCrop(5)],
        shuffle=False,
        return_index=True,
        threads=1,
    )
    seen = 0
    for images, _, index in loader:
        name, data = contents()[int(index[0])]
        whole = by_pillow(data, "RGB")
        if min(whole.shape[:2]) < 5:
            continue
        top, left = (round((side - 5) / 2.0) for side in whole.shape[:2])
        crop = whole[top : top + 5, left : left + 5]
        np.testing.assert_array_equal(np.asarray(images)[0].transpose(1, 2, 0), crop, name)
        seen += 1
    assert seen > 80


def test_the_orientation_of_a_webp_is_applied_on_request(folder: Path) -> None:
    number = [name for name, _ in contents()].index("webp turned")
    as_stored, _ = tundish.Dataset(folder / "list.csv")[number]
    upright, _ = tundish.Dataset(folder / "list.csv", exif_orientation=True)[number]
    np.testing.assert_array_equal(upright, np.rot90(as_stored, -1))


@needs_program
def test_a_pack_keeps_the_bytes_and_knows_the_codecs(folder: Path, tmp_path: Path) -> None:
    pack = tmp_path / "a.tnd"
    report = json.loads(out(program("pack", folder / "list.csv", "-o", pack, "--json")))
    assert report["codecs"] == {kind: len(files) for kind, files in FILES.items()}
    assert json.loads(out(program("info", pack, "--json")))["codecs"] == report["codecs"]
    program("verify", pack, "--pixels", check=True)
    dataset = tundish.Dataset(pack)
    for i, (name, data) in enumerate(contents()):
        np.testing.assert_array_equal(dataset[i][0], by_pillow(data, "RGB"), err_msg=name)
    program("unpack", pack, "-o", tmp_path / "back", check=True)
    for file in folder.iterdir():
        if file.name != "list.csv":
            assert (tmp_path / "back" / file.name).read_bytes() == file.read_bytes()


def damaged() -> dict[str, tuple[bytes, str]]:
    """Files that Pillow also refuses, with the code and part of the reason."""
    webp = FILES["webp"]["3-False-3"]
    lossless = FILES["webp"]["3-True-3"]
    gif = FILES["gif"]["256-0"]
    pixels = bytes(200)
    return {
        "cut.webp": (webp[: len(webp) // 2], "TND-406.*ends before its last chunk"),
        "no-frame.webp": (b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0" + bytes(10), "TND-403.*no frame"),
        "noise.webp": (lossless[:40] + bytes(len(lossless) - 40), "TND-40"),
        "cut.bmp": (bmp(24)[:100], "TND-406.*last row would end"),
        "two-bits.bmp": (bmp(24)[:28] + b"\2\0" + bmp(24)[30:], "TND-402.*2 bits per pixel"),
        "jpeg-inside.bmp": (bmp(24, compression=4, pixels=pixels), "TND-402.*compression 4"),
        "fields.bmp": (bmp(16, compression=3, masks=(1, 2, 4)), "TND-402.*bit fields"),
        "runs.bmp": (bmp(8, compression=1, pixels=b"\5\1\0\1"), "TND-406.*runs end"),
        "bomb.bmp": (bmp(24)[:18] + b"\xff\xff\0\0\xff\xff\0\0" + bmp(24)[26:], "TND-404"),
        "cut.gif": (gif[: len(gif) // 2], "TND-406.*before the last row"),
        "no-frame.gif": (b"GIF89a\1\0\1\0\0\0\0;", "TND-403.*no frame"),
        "short.gif": (b"GIF89a\1\0\1\0\0\0\0,\0\0\0\0\2\0\2\0\0\2\2\x44\1\0;", "TND-406"),
        "empty-frame.gif": (b"GIF89a\1\0\1\0\0\0\0," + bytes(9) + b"\2\0;", "TND-403.*0 x 0"),
    }


@pytest.mark.parametrize("name", damaged())
def test_files_that_pillow_refuses_are_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    data, reason = damaged()[name]
    (tmp_path / name).write_bytes(data)
    (tmp_path / "list.csv").write_text(f"path\n{name}\n")
    with pytest.raises(Exception), Image.open(tmp_path / name) as image:  # noqa: B017
        image.convert("RGB")
    with pytest.raises(tundish.SampleError, match=rf"(?s){reason}") as caught:
        _ = tundish.Dataset(tmp_path / "list.csv")[0]
    assert name in str(caught.value)
