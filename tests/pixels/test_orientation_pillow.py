"""exif_orientation=True rotates like Pillow's exif_transpose, for all metadata with a rotation."""

import io
import zlib

import numpy as np
import pytest
import tundish
from PIL import Image, ImageOps, PngImagePlugin

ATTRIBUTE = '<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="{}"/>'
ELEMENT = "<tiff:Orientation>{}</tiff:Orientation>"


def exif(value):
    made = Image.Exif()
    made[0x0112] = value
    return made.tobytes()


def encoded(kind, **options):
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (12, 17, 3)).astype(np.uint8))
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(kind, content):
    size, checked = len(content).to_bytes(4, "big"), kind + content
    return size + checked + zlib.crc32(checked).to_bytes(4, "big")


def behind_pixels(png, *chunks):
    return png[:-12] + b"".join(chunks) + png[-12:]


def packet(value, compressed):
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", ATTRIBUTE.format(value), zip=compressed)
    return info


def profile(value, compressed):
    """Returns EXIF data in ImageMagick's profile form."""
    content = b"Exif\0\0" + exif(value).removeprefix(b"Exif\0\0")
    info = PngImagePlugin.PngInfo()
    text = f"\nexif\n{len(content):8}\n{content.hex()}\n"
    info.add_text("Raw profile type exif", text, zip=compressed)
    return info


def images(value):
    xmp = ATTRIBUTE.format(value).encode()
    png, tiff = encoded("PNG"), exif(value).removeprefix(b"Exif\0\0")
    return {
        "jpeg exif.jpg": encoded("JPEG", exif=exif(value)),
        "jpeg attribute.jpg": encoded("JPEG", xmp=xmp),
        "jpeg element.jpg": encoded("JPEG", xmp=ELEMENT.format(value).encode()),
        "jpeg both.jpg": encoded("JPEG", xmp=xmp, exif=exif(3)),
        "webp exif.webp": encoded("WEBP", lossless=True, exif=exif(value)),
        "webp xmp.webp": encoded("WEBP", lossless=True, xmp=xmp),
        "webp both.webp": encoded("WEBP", lossless=True, xmp=xmp, exif=exif(3)),
        "png exif.png": encoded("PNG", exif=exif(value)),
        "png xmp.png": encoded("PNG", pnginfo=packet(value, False)),
        "png packed xmp.png": encoded("PNG", pnginfo=packet(value, True)),
        "png profile.png": encoded("PNG", pnginfo=profile(value, False)),
        "png packed profile.png": encoded("PNG", pnginfo=profile(value, True)),
        "png profile and exif.png": encoded("PNG", pnginfo=profile(value, True), exif=exif(3)),
        "png exif behind.png": behind_pixels(png, chunk(b"eXIf", tiff)),
        "png xmp behind.png": behind_pixels(
            png, chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp)
        ),
    }


@pytest.mark.parametrize("value", range(10))
def test_images_are_rotated_like_in_pillow(tmp_path, value):
    made = images(value)
    for name, content in made.items():
        (tmp_path / "photos" / "c").mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / "c" / name).write_bytes(content)
    turned = 0
    dataset = tundish.Dataset(tmp_path / "photos", exif_orientation=True)
    for name, (pixels, _) in zip(sorted(made), dataset, strict=True):
        with Image.open(io.BytesIO(made[name])) as image:
            image.load()
            upright = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
            turned += upright.shape != (12, 17, 3)
        np.testing.assert_array_equal(pixels, upright, err_msg=name)
    assert turned == (len(made) - 3 if 5 <= value <= 8 else 0)
