"""Proofs of a siege for a folder of JPEGs: `tundish pack` is lossless for every file.

restored   `tundish unpack` gives the file back, byte for byte
pixels     tundish.Dataset gives Pillow's pixels
windows    tundish.Loader returns exact random windows (tests/siege/windows.py)
resized    tundish.Loader returns exact resized windows
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tundish
from PIL import Image

from tests.siege.windows import check_windows, plain_window, resized_window


@dataclass(frozen=True)
class Difference:
    file: Path
    what: str


@dataclass
class Tally:
    checked: int = 0
    exact: int = 0


@dataclass
class Proof:
    """Counts of one kind; `differences` lists every file or window that differs."""

    files: int = 0
    lanes: int = 0
    kept: Counter[str] = field(default_factory=Counter)  # stored unchanged, by reason
    jpeg_bytes: int = 0
    pack_bytes: int = 0
    restored: Tally = field(default_factory=Tally)
    pixels: Tally = field(default_factory=Tally)
    windows: Tally = field(default_factory=Tally)
    resized: Tally = field(default_factory=Tally)
    differences: list[Difference] = field(default_factory=list)

    def count(self, tally: Tally, file: Path, what: str, exact: bool) -> None:
        tally.checked += 1
        tally.exact += exact
        if not exact:
            self.differences.append(Difference(file, what))


@dataclass(frozen=True)
class Options:
    program: Path
    tables: str = "auto"
    max_growth: float = (
        10.0  # generous: the siege tests lanes records rather than files that stay unchanged
    )
    windows: int = 8  # per file; every fourth window is resized


def prove(proof: Proof, folder: Path, work: Path, options: Options, seed: int) -> None:
    """Adds the results for the files of a folder. `work` gets the pack and the unpacked files."""
    files = sorted(folder.iterdir())
    pack = work / "packed.tnd"
    words = ["--lanes-tables", options.tables, "--max-growth", str(options.max_growth), "--force"]
    report = run(options.program, "pack", folder, "-o", pack, *words)
    proof.files += len(files)
    proof.jpeg_bytes += sum(file.stat().st_size for file in files)
    refused = {row["key"]: row["code"] for row in report["refused"]} if report else {}
    for file in files:
        if report is None or file.name in refused:
            code = refused.get(file.name, "none of its folder could be packed")
            proof.differences.append(Difference(file, f"refused: {code}"))
    if report is None:
        return
    proof.pack_bytes += pack.stat().st_size
    proof.lanes += report["codecs"].get("lanes", 0)
    proof.kept.update(report["lanes"]["kept"])

    files = [file for file in files if file.name not in refused]
    check_bytes(proof, files, pack, work / "back", options.program)
    whole = {number: by_pillow(file) for number, file in enumerate(files)}
    check_pixels(proof, files, pack, whole)
    for number in range(options.windows):
        kind = resized_window if number % 4 == 3 else plain_window
        tally = proof.resized if number % 4 == 3 else proof.windows
        for place, what in check_windows(pack, whole, kind, seed * options.windows + number):
            proof.count(tally, files[place], what, exact=not what)


def run(program: Path, *words: str | Path) -> dict[str, Any] | None:
    """Returns the JSON of a verb, or None if it failed. Exit code 3 means warnings."""
    line = [program, *words, "--json"]
    done = subprocess.run(line, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode in (0, 3) else None


def by_pillow(file: Path) -> np.ndarray | None:
    """Returns the pixels, or None for a file that Pillow cannot read."""
    try:
        with Image.open(file) as image:
            image.decodermaxblock = file.stat().st_size  # arithmetic decoding cannot be suspended
            return np.asarray(image.convert("RGB"))
    except OSError:
        return None


def check_bytes(proof: Proof, files: list[Path], pack: Path, back: Path, program: Path) -> None:
    run(program, "unpack", pack, "-o", back)
    for file in files:
        given = back / file.name
        exact = given.is_file() and given.read_bytes() == file.read_bytes()
        proof.count(proof.restored, file, "does not come back byte for byte", exact)


def check_pixels(
    proof: Proof, files: list[Path], pack: Path, whole: dict[int, np.ndarray | None]
) -> None:
    data = tundish.Dataset(pack)
    for number, file in enumerate(files):
        if whole[number] is None:  # no reference to compare with
            continue
        try:
            what, exact = (
                "other pixels than Pillow's",
                np.array_equal(data[number][0], whole[number]),
            )
        except tundish.Error as error:
            what, exact = f"cannot be decoded: {error}", False
        proof.count(proof.pixels, file, what, exact)
