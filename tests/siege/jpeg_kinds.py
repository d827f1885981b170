"""The kinds of JPEG that a siege makes of every photo: losslessly transcoded and re-encoded.

jpegtran transcodes the photo's coefficients. Pillow and cjpeg encode its pixels again, in turn with
several qualities and settings. A kind whose program is not installed is omitted and named.
"""

from __future__ import annotations

import io
import math
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageCms


@dataclass(frozen=True)
class Photo:
    number: int
    name: str
    jpeg: bytes
    image: Image.Image  # RGB

    def random(self, kind: str) -> random.Random:
        return random.Random(f"{kind} {self.number}")

    def of(self, choices: tuple[Any, ...]) -> Any:
        """Selects one choice per photo, in turn."""
        return choices[self.number % len(choices)]


@dataclass(frozen=True)
class Kind:
    name: str
    make: Callable[[Photo], bytes]
    program: str = ""  # required besides Pillow
    is_supported: bool = True  # as a lanes record; other kinds are stored unchanged


QUALITIES = (75, 95, 50, 85, 30, 100, 10, 90)
RESTARTS = ("1", "2", "1B", "7B", "100B")
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"progressive": True},
    {"optimize": True},
    {"restart_marker_blocks": 7},
    {"progressive": True, "restart_marker_rows": 1},
)
CJPEG_WAYS = ([], ["-progressive"], ["-optimize"], ["-restart", "7B"], ["-restart", "1"])
TURNS = (["-transpose"], ["-rotate", "90"], ["-flip", "horizontal"], ["-transverse"])


def by_pillow(image: Image.Image, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", **how)
    return file.getvalue()


def run(words: list[str], data: bytes) -> bytes:
    return subprocess.run(words, input=data, capture_output=True, check=True).stdout


def jpegtran(*words: str) -> Callable[[Photo], bytes]:
    return lambda photo: run(["jpegtran", "-copy", "all", *words], photo.jpeg)


def restarted(photo: Photo) -> bytes:
    return jpegtran("-restart", photo.of(RESTARTS))(photo)


def cut_out(photo: Photo) -> bytes:
    """Crops to an odd size at any offset in an MCU; jpegtran keeps the blocks."""
    draw, (width, height) = photo.random("cut out"), photo.image.size
    x, y = draw.randrange(width), draw.randrange(height)
    w, h = (draw.randint(1, side) // 2 * 2 + 1 for side in (width - x, height - y))
    return jpegtran("-crop", f"{min(w, width - x)}x{min(h, height - y)}+{x}+{y}")(photo)


def turned(photo: Photo) -> bytes:
    """Turns the photo: 4:2:2 becomes 4:4:0, quantization tables are transposed, edges stay."""
    return jpegtran(*photo.of(TURNS))(photo)


def sampled(sampling: str) -> Callable[[Photo], bytes]:
    def make(photo: Photo) -> bytes:
        how = photo.of(WAYS) | {"quality": photo.of(QUALITIES), "subsampling": sampling}
        return by_pillow(photo.image, **how)

    return make


def sampled_by_cjpeg(factors: str) -> Callable[[Photo], bytes]:
    """Returns a maker for samplings that Pillow cannot write."""

    def make(photo: Photo) -> bytes:
        file = io.BytesIO()
        photo.image.save(file, "PPM")
        words = ["-quality", str(photo.of(QUALITIES)), *photo.of(CJPEG_WAYS)]
        return run(["cjpeg", "-sample", factors, *words], file.getvalue())

    return make


def gray(photo: Photo) -> bytes:
    return by_pillow(photo.image.convert("L"), quality=photo.of(QUALITIES), **photo.of(WAYS))


def part_of(photo: Photo, width: int, height: int) -> Image.Image:
    draw = photo.random("part")
    width, height = min(width, photo.image.width), min(height, photo.image.height)
    x = draw.randint(0, photo.image.width - width)
    y = draw.randint(0, photo.image.height - height)
    return photo.image.crop((x, y, x + width, y + height))


def odd_size(photo: Photo) -> bytes:
    draw = photo.random("odd size")
    sides = [int(math.exp(draw.uniform(0, math.log(side + 1)))) | 1 for side in photo.image.size]
    how = {"subsampling": draw.choice(["4:4:4", "4:2:2", "4:2:0"]), "quality": photo.of(QUALITIES)}
    return by_pillow(part_of(photo, *sides), **how, **photo.of(WAYS))


def narrow(photo: Photo) -> bytes:
    draw = photo.random("narrow")
    short, long = draw.randint(1, 9), draw.randint(60, 400)
    width, height = (short, long) if photo.number % 2 else (long, short)
    how = {"subsampling": draw.choice(["4:4:4", "4:2:2", "4:2:0"]), "quality": photo.of(QUALITIES)}
    return by_pillow(part_of(photo, width, height), **how)


def rgb(photo: Photo) -> bytes:
    return by_pillow(photo.image, keep_rgb=True, quality=photo.of(QUALITIES))


def with_metadata(photo: Photo) -> bytes:
    """Adds an EXIF orientation, an ICC profile, a comment, and bytes after the end."""
    exif = Image.Exif()
    exif[0x0112] = 1 + photo.number % 8
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    how = {"exif": exif, "icc_profile": profile, "comment": b"a comment " * photo.number}
    return by_pillow(photo.image, quality=80, **how) + bytes(photo.number % 5)


def cmyk(photo: Photo) -> bytes:
    return by_pillow(photo.image.convert("CMYK"), quality=photo.of(QUALITIES))


KINDS = (
    Kind("as it came", lambda photo: photo.jpeg),
    Kind("progressive", jpegtran("-progressive"), "jpegtran"),
    Kind("restart markers", restarted, "jpegtran"),
    Kind("optimized tables", jpegtran("-optimize"), "jpegtran"),
    Kind("cut out", cut_out, "jpegtran"),
    Kind("turned", turned, "jpegtran"),
    Kind("made gray", jpegtran("-grayscale"), "jpegtran"),
    Kind("arithmetic", jpegtran("-arithmetic"), "jpegtran", is_supported=False),
    Kind("4:4:4", sampled("4:4:4")),
    Kind("4:2:2", sampled("4:2:2")),
    Kind("4:2:0", sampled("4:2:0")),
    Kind("4:4:0", sampled_by_cjpeg("1x2"), "cjpeg"),
    Kind("4:1:1", sampled_by_cjpeg("4x1"), "cjpeg"),
    Kind("gray", gray),
    Kind("RGB", rgb),
    Kind("odd size", odd_size),
    Kind("narrow", narrow),
    Kind("metadata", with_metadata),
    Kind("CMYK", cmyk, is_supported=False),
)
