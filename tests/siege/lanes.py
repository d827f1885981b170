"""Does re-coding JPEGs lose anything? Converts every photo as every kind of JPEG, there and back.

Every photo becomes one file of each kind of jpeg_kinds.py. The files are packed, and proof.py
compares the results. Without --data, the demo's sample set is created and used. A file that differs
is kept and named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from PIL import Image

from bench.common.images import make_samples, read_images
from bench.common.rows import ROOT
from tests.siege.jpeg_kinds import KINDS, Kind, Photo
from tests.siege.progress import Progress
from tests.siege.proof import Options, Proof, prove
from tests.siege.report import Campaign, as_json, as_text

AT_ONCE = 100  # photos in memory and files per pack
SAMPLES = 100  # photos in the sample set


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev siege lanes", description=__doc__)
    data = os.environ.get("TUNDISH_DATA")
    parser.add_argument("--data", default=data, help="folder or .tar of JPEGs (TUNDISH_DATA)")
    parser.add_argument("--files", type=int, help="at most so many, of all kinds together")
    parser.add_argument("--windows", type=int, default=8, help="per file (8), a quarter is resized")
    parser.add_argument("--tables", choices=("auto", "builtin", "train"), default="auto")
    parser.add_argument(
        "--max-growth", type=float, default=10, help="of a record (10: tiny files are re-coded too)"
    )
    work = ROOT / "build" / "siege" / "lanes"
    parser.add_argument("--work", type=Path, default=work, help="folder for what is made")
    program = Path(sys.executable).parent / "tundish"
    parser.add_argument("--program", type=Path, default=program, help="which tundish is tried")
    parser.add_argument("--json", action="store_true", help="the counts as JSON")
    return parser


def read_photos(data: str | None, work: Path, most: int | None) -> list[tuple[str, bytes]]:
    """Returns names and bytes of the JPEGs, at most `most`, evenly spaced."""
    source = Path(data) if data else make_samples(work / "samples", SAMPLES)
    found = [(name, jpeg) for name, jpeg in read_images(source) if jpeg[:2] == b"\xff\xd8"]
    shutil.rmtree(work / "samples", ignore_errors=True)
    if not found:
        raise SystemExit(f"siege: {source} holds no JPEGs")
    count = min(len(found), most or len(found))
    return [found[i * len(found) // count] for i in range(count)]


def decode(number: int, name: str, jpeg: bytes) -> Photo | None:
    """Decodes a photo; None if Pillow cannot read it, because there is no reference."""
    try:
        with Image.open(io.BytesIO(jpeg)) as image:
            return Photo(number, name, jpeg, image.convert("RGB"))
    except OSError:
        return None


def make_files(kind: Kind, photos: list[Photo], folder: Path, not_made: list[str]) -> int:
    """Writes a file of this kind for each photo; returns the number of files."""
    folder.mkdir(parents=True)
    name = kind.name.replace(" ", "-").replace(":", "")
    for photo in photos:
        try:
            (folder / f"{photo.number:06}-{name}.jpg").write_bytes(kind.make(photo))
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            reason = (getattr(error, "stderr", b"") or b"").decode(errors="replace") or str(error)
            not_made.append(f"{kind.name} of {photo.name}: {reason.strip()}")
    return len(list(folder.iterdir()))


def keep_differing(proof: Proof, already: int, work: Path) -> None:
    """Copies differing files to a permanent folder."""
    for difference in proof.differences[already:]:
        (work / "differing").mkdir(exist_ok=True)
        if difference.file.exists():
            shutil.copy(difference.file, work / "differing" / difference.file.name)


def besiege(options: argparse.Namespace) -> Campaign:
    work: Path = options.work
    campaign = Campaign(differing=work / "differing")
    kinds = [kind for kind in KINDS if not kind.program or shutil.which(kind.program)]
    campaign.left_out = Counter(k.program for k in KINDS if k not in kinds)
    if options.files and options.files < len(kinds):
        kinds = kinds[: options.files]
    photos = read_photos(options.data, work, options.files and max(1, options.files // len(kinds)))
    campaign.proofs = {kind.name: Proof() for kind in kinds}
    campaign.supported = [kind.name for kind in kinds if kind.is_supported]
    how = Options(options.program, options.tables, options.max_growth, options.windows)
    progress = Progress(len(photos) * len(kinds))
    for first in range(0, len(photos), AT_ONCE):
        chunk = [decode(i, *photos[i]) for i in range(first, min(first + AT_ONCE, len(photos)))]
        readable = [photo for photo in chunk if photo]
        campaign.photos += len(readable)
        campaign.unreadable += [photos[first + i][0] for i, p in enumerate(chunk) if p is None]
        for place, kind in enumerate(kinds):
            now, proof = work / "now", campaign.proofs[kind.name]
            already = len(proof.differences)
            shutil.rmtree(now, ignore_errors=True)
            if make_files(kind, readable, now / "files", campaign.not_made):
                prove(proof, now / "files", now, how, seed=first * len(kinds) + place)
            keep_differing(proof, already, work)
            progress.step(len(chunk), kind.name)
    shutil.rmtree(work / "now", ignore_errors=True)
    progress.end()
    return campaign


def main() -> int:
    options = arguments().parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(options.work / "differing", ignore_errors=True)
    campaign = besiege(options)
    print(json.dumps(as_json(campaign, options), indent=1) if options.json else as_text(campaign))
    return 0 if campaign.is_proven() else 1


if __name__ == "__main__":
    sys.exit(main())
