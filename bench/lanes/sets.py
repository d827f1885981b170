"""The image sets of the benchmark (the original data, and the same data re-encoded), and pack sizes."""

from __future__ import annotations

import io
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from ..common.images import TUNDISH, Images

QUALITIES = (75, 85)


@dataclass(frozen=True)
class Size:
    """The size of a pack that contains each JPEG of a set once."""

    images: int
    lanes: int  # number of images stored as lanes records
    jpeg_bytes: int  # total size of the JPEG files
    records: float  # bytes of the records and their restore data, divided by bytes of the JPEGs
    pack: float  # bytes of the pack file, divided by bytes of all files


def reencode(images: Images, folder: Path, quality: int) -> Path:
    """Re-encodes every image with Pillow, as 4:2:0 or gray. Skips broken images."""
    folder.mkdir(parents=True)
    for file in images.files[: images.distinct]:
        out = io.BytesIO()
        try:
            with Image.open(file) as image:
                pixels = image if image.mode in ("L", "RGB") else image.convert("RGB")
                pixels.save(out, "JPEG", quality=quality, subsampling="4:2:0")
        except OSError:
            continue
        (folder / _free(folder, Path(file).with_suffix(".jpg"))).write_bytes(out.getvalue())
    return folder


def sizes(images: Images, work: Path) -> dict[str, Size]:
    """Returns pack sizes by kind of tables. Files keep their original names, which a pack stores."""
    folder = work / "jpegs" / "all"
    folder.mkdir(parents=True)
    for file in map(Path, images.files[: images.distinct]):
        if file.read_bytes()[:2] == b"\xff\xd8":
            os.link(file, folder / _free(folder, file))
    return {tables: _size(folder.parent, tables) for tables in ("builtin", "train")}


def _size(folder: Path, tables: str) -> Size:
    target = folder.with_name(f"{tables}.tnd")
    packed = _tundish("pack", str(folder), "-o", str(target), "--lanes-tables", tables)
    info = _tundish("info", str(target))
    target.unlink()
    lanes = packed["lanes"]
    records = lanes["record_bytes"] + lanes["restore_bytes"]
    return Size(
        info["records"],
        info["codecs"].get("lanes", 0),
        packed["source_bytes"],
        records / max(1, lanes["jpeg_bytes"]),
        info["file_bytes"] / packed["source_bytes"],
    )


def _tundish(*words: str) -> dict[str, Any]:
    done = subprocess.run([TUNDISH, *words, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 3):  # 3: some files were refused, the others are packed
        raise SystemExit(f"bench: tundish {words[0]} failed: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def _free(folder: Path, file: Path) -> str:
    """Returns the file name without the number that prepare() added, unless that name is taken."""
    name = file.name.partition("_")[2]
    return file.name if (folder / name).exists() else name
