"""Prepares the images of a benchmark from a folder or a .tar: copies them until they exceed any cache."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .rows import ROOT, say

ENDINGS = (".jpg", ".jpeg", ".png")
MOST_DISTINCT = 2000  # from a larger dataset, this many evenly spaced images are used
TUNDISH = ROOT / "build" / "release" / "tundish"


@dataclass(frozen=True)
class Images:
    folder: Path  # folder with one subfolder per class; sorted, the files have the pack's order
    files: list[str]
    pack: Path
    jpeg_pack: Path  # the same images as unchanged JPEGs
    bytes: int
    distinct: int
    about: str  # number and sizes of the images, as text
    name: str  # base name of the folder or archive
    digest: str  # digest of the names and bytes of the distinct images


def last_level_cache() -> int:
    """Returns the size of the first CPU's largest cache; 32 MB if the system does not report it."""
    sizes = [0]
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text().strip()
        sizes.append(int(text.rstrip("KM")) * {"K": 2**10, "M": 2**20}.get(text[-1], 1))
    return max(sizes) or 32 * 2**20


def make_samples(folder: Path, count: int = 1000, classes: int = 10) -> Path:
    """Writes the demo's images: FOLDER/CLASS/NNNN.jpg."""
    subprocess.run(
        [ROOT / "build" / "release" / "make_samples", folder, str(count), str(classes)], check=True
    )
    return folder


def prepare(
    data: str | None,
    work: Path,
    least_images: int,
    least_bytes: int | None = None,
    codecs: Sequence[str] = ("lanes", "keep"),
) -> Images:
    """Copies the images into `work` as often as needed, and packs them with each codec.

    Makes real copies, because files that share pages in memory would also share cache lines.
    """
    shutil.rmtree(work, ignore_errors=True)
    folder = work / "images"
    source = Path(data) if data else make_samples(work / "samples")
    first = list(read_images(source))
    if not first:
        raise SystemExit(f"bench: {source} holds no images (.jpg, .jpeg, .png)")
    size = sum(len(content) for _, content in first)
    digest = hashlib.sha256()
    for name, content in first:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    wanted = min(2**30, 4 * last_level_cache()) if least_bytes is None else least_bytes
    copies = max(1, -(-least_images // len(first)), -(-wanted // size))
    files = []
    for copy in range(copies):
        label = folder / f"copy{copy:04d}"
        label.mkdir(parents=True)
        for i, (name, content) in enumerate(first):
            file = label / f"{i:06d}_{name}"
            file.write_bytes(content)
            files.append(str(file))
    pack, jpeg_pack = work / "images.tnd", work / "images_jpeg.tnd"
    for codec in codecs:
        target = {"lanes": pack, "keep": jpeg_pack}[codec]
        words = [TUNDISH, "pack", folder, "-o", target, "--quiet", "--codec", codec]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    about = f"{len(first):,} images x {copies} copies, {size * copies / 1e6:,.0f} MB"
    say(f"data: {about}, mean {size / len(first) / 1000:.0f} KB")
    name = source.resolve().name if data else "sample set"
    return Images(
        folder,
        files,
        pack,
        jpeg_pack,
        size * copies,
        len(first),
        about,
        name,
        digest.hexdigest()[:16],
    )


def read_images(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yields (name, bytes) of at most MOST_DISTINCT images."""
    if source.is_dir():
        found = sorted(f for f in source.rglob("*") if f.suffix.lower() in ENDINGS and f.is_file())
        for file in found[:: max(1, len(found) // MOST_DISTINCT)][:MOST_DISTINCT]:
            yield file.name, file.read_bytes()
        return
    with tarfile.open(source) as tar:
        found = (m for m in tar if m.isfile() and m.name.lower().endswith(ENDINGS))
        for member in itertools.islice(found, MOST_DISTINCT):
            content = tar.extractfile(member)
            assert content is not None
            yield os.path.basename(member.name), content.read()
