"""Random images in all of Pillow's modes: PNG, JPEG, BMP, GIF, WebP."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from tests.siege.originals.case import Case

MODES = {
    "PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    "JPEG": ("L", "RGB", "CMYK"),
    "BMP": ("1", "L", "P", "RGB", "RGBA"),
    "GIF": ("1", "L", "P", "RGB", "RGBA"),
    "WEBP": ("L", "RGB", "RGBA", "P"),
}


def make(draw: random.Random, folder: Path) -> Case:
    kind = draw.choice(list(MODES))
    mode = draw.choice(MODES[kind])
    width, height = draw.randint(1, 40), draw.randint(1, 40)
    image = _random_image(draw, mode, width, height)
    options = _options(draw, kind, mode)
    turned = draw.random() < 0.3 and kind in ("JPEG", "PNG", "WEBP")
    if turned:
        exif = Image.Exif()
        exif[0x0112] = draw.randint(1, 8)
        options["exif"] = exif
    out = io.BytesIO()
    image.save(out, kind, **options)
    (folder / "a.img").write_bytes(out.getvalue())
    (folder / "list.csv").write_text("path\na.img\n")
    with Image.open(io.BytesIO(out.getvalue())) as read:
        used = turned and draw.random() < 0.7
        shown = ImageOps.exif_transpose(read) if used else read
        pixels = np.asarray(shown.convert("RGB")).transpose(2, 0, 1)
        read_mode = read.mode
    loader: dict[str, Any] = {"exif_orientation": True} if used else {}
    options.pop("exif", None)
    about = f"{kind} {mode} {width}x{height} {options} turned={turned} {read_mode}"
    case = Case(folder / "list.csv", {"image": [pixels]}, loader=loader, about=about)
    if read_mode == "I;16":
        case.refusals.append((r"TND-407.*16-bit", "16-bit grays need mode I;16"))
    return case


def _random_image(draw: random.Random, mode: str, width: int, height: int) -> Image.Image:
    rng = np.random.default_rng(draw.getrandbits(64))
    most = draw.choice((2, 9, 256))
    if mode == "I;16":
        return Image.fromarray(rng.integers(0, 65536, (height, width)).astype(np.uint16))
    if mode in ("1", "L", "P"):
        gray = Image.fromarray(rng.integers(0, most, (height, width)).astype(np.uint8))
        if mode == "P":
            gray = Image.frombytes("P", gray.size, gray.tobytes())
            gray.putpalette(rng.integers(0, 256, 768).astype(np.uint8).tobytes())
        return gray.convert("1") if mode == "1" else gray
    bands = {"LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    data = rng.integers(0, most, (height, width, bands)).astype(np.uint8)
    return Image.frombytes(mode, (width, height), data.tobytes())


def _options(draw: random.Random, kind: str, mode: str) -> dict[str, Any]:
    if kind == "JPEG":
        options: dict[str, Any] = {
            "quality": draw.randint(1, 100),
            "progressive": draw.random() < 0.4,
        }
        return {**options, "subsampling": draw.randrange(3), "optimize": draw.random() < 0.3}
    if kind == "PNG":
        options = {"compress_level": draw.randrange(10), "optimize": draw.random() < 0.2}
        if mode == "P" and draw.random() < 0.5:
            options["transparency"] = draw.choice((0, 1, bytes(range(0, 250, 50))))
        return options
    if kind == "GIF":
        return {"interlace": draw.randrange(2), "optimize": draw.random() < 0.5}
    if kind == "WEBP":
        return {"lossless": draw.random() < 0.5, "quality": draw.randint(0, 100), "method": 0}
    return {}
