"""What do corrupt samples cost? One in twenty is damaged; compared with a clean set.

There are three kinds of damage: a whole record of a pack, one byte of a record, or a file cut in half.
A crop reads only a part of its record, so only some crops encounter the last two kinds. Before
anything is timed, an epoch is compared with the same epoch of the clean set. Images that both deliver
must have the same pixels. The report must name every other image once, together with its substitute.
"""

from __future__ import annotations

import hashlib
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tundish
from tundish import transforms as T

from ..common.images import Images, prepare
from ..common.readers import read_tnd
from ..common.rounds import Cost, add_overhead, measure, take_turns
from ..common.rows import ROOT, Rows, arguments, middle, say, table

EVERY = 20  # one sample in this many is damaged
PACK, FILES = "pack", "loose files"
WHOLE, BYTE, HALF = "records lost", "a byte wrong", "files cut"
SKIP, SUBSTITUTE = "skip", "substitute"


def damaged_pack(images: Images, numbers: list[int], out: Path, whole: bool) -> Path:
    """Copies the pack. Replaces these records by noise, or changes one byte in each of them."""
    shutil.copyfile(images.pack, out)
    random = np.random.default_rng(1)
    with open(out, "r+b") as file:
        places = read_tnd().Pack(file).places
        for number in numbers:
            offset, size = places[number][0]
            at, length = (offset, size) if whole else (offset + int(random.integers(size)), 1)
            file.seek(at)
            before = np.frombuffer(file.read(length), np.uint8)
            file.seek(at)
            file.write((before ^ random.integers(1, 256, length, np.uint8)).tobytes())
    return out


def damaged_files(images: Images, numbers: list[int], out: Path) -> Path:
    """Copies the folder. Truncates each of these files to half its size."""
    shutil.copytree(images.folder, out)
    for number in numbers:
        file = out / Path(images.files[number]).relative_to(images.folder)
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
    return out


def opened(path: Path, threads: int, policy: str) -> tundish.Loader:
    return tundish.Loader(
        path,
        64,
        shuffle=True,
        seed=7,
        threads=threads,
        backend="numpy",
        on_error=policy,
        transforms=[T.RandomResizedCrop(224), T.RandomHorizontalFlip()],
        return_index=True,
    )


def epoch_of(path: Path, policy: str) -> tuple[list[tuple[int, bytes]], dict[str, Any]]:
    """Returns (number, digest) of every image in an epoch, and the loader's report."""
    loader = opened(path, 1, policy)
    images = [
        (int(number), hashlib.blake2b(image.tobytes(), digest_size=16).digest())
        for pixels, _, numbers in loader
        for image, number in zip(pixels, numbers, strict=True)
    ]
    report = loader.report()
    loader.close()
    return images, report


def check_report(
    clean: list[tuple[int, bytes]], path: Path, policy: str, damaged: set[int], all_met: bool
) -> str:
    """Returns what is wrong in the report of an epoch, or "". `clean` is the undamaged epoch."""
    delivered, report = epoch_of(path, policy)
    listed: list[dict[str, Any]] = report["bad_samples"]
    if not {one["sample"] for one in listed} <= damaged:
        return "a valid record is called bad"
    first = {
        one["position"]: one for one in reversed(listed)
    }  # before its substitutes, if those are bad
    if all_met and len(first) != len(damaged):
        return "not every damaged record is named"
    left = iter(delivered)
    for position, image in enumerate(clean):
        one = first.get(position)
        if one is None and next(left, None) != image:
            return f"position {position} is not what it is in the clean set, and not named"
        if one is not None and one["sample"] != image[0]:
            return f"position {position} is named with another record"
        if one is not None and one["replaced_by"] != (
            None if policy == SKIP else next(left, (None, b""))[0]
        ):
            return f"what came instead at position {position} is not what it says"
    counts = len(listed), len(delivered), len(first)
    reported = (
        report["bad"],
        report["delivered"],
        report["replaced" if policy != SKIP else "skipped"],
    )
    return "" if counts == reported and next(left, None) is None else "the counts are wrong"


def sizes(loader: tundish.Loader) -> Iterator[int]:
    """Yields the sizes of batches, endlessly, one epoch after another."""
    while True:
        for batch in loader:
            yield len(batch[1])


def cost(path: Path, threads: int, policy: str, images: int) -> Cost:
    loader = opened(path, threads, policy)
    out = measure(sizes(loader), images)
    loader.close()
    return out


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)  # the loader warns once about bad samples
    parser = arguments(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--images", type=int, default=6400, help="delivered in a run (6400)")
    parser.add_argument("--threads", type=int, default=1, help="of the loader (1)")
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "bad"
    rows = Rows("bad", "numpy")
    images = prepare(options.data, work, 256, 0 if options.cached else None, codecs=["lanes"])
    rows.set_data(images.about, images.name, images.digest)
    # Samples are chosen at random, because damaging the same photo in every copy of the set would
    # change the mean cost.
    random = np.random.default_rng(2)
    numbers = random.choice(len(images.files), len(images.files) // EVERY, replace=False).tolist()
    clean = {PACK: images.pack, FILES: images.folder}
    damaged = {
        WHOLE: damaged_pack(images, numbers, work / "whole.tnd", whole=True),
        BYTE: damaged_pack(images, numbers, work / "byte.tnd", whole=False),
        HALF: damaged_files(images, numbers, work / "half"),
    }
    contestants = {
        f"{kind}, {policy}": (path, FILES if kind == HALF else PACK, policy)
        for kind, path in damaged.items()
        for policy in (SKIP, SUBSTITUTE)
    }
    right = {name: epoch_of(path, SKIP)[0] for name, path in clean.items()}
    for name, (path, kind, policy) in contestants.items():
        all_met = name.startswith(WHOLE)
        if wrong := check_report(right[kind], path, policy, set(numbers), all_met):
            raise SystemExit(f"bench: {name}: {wrong}")
    say(f"the reports are exact: {len(numbers)} of {len(images.files)} samples bad")
    contestants = {name: (path, name, SKIP) for name, path in clean.items()} | contestants

    def run(name: str) -> Cost:
        path, kind, policy = contestants[name]
        # loose JPEGs take five times as long, so use fewer images
        return cost(path, options.threads, policy, options.images // (4 if kind == FILES else 1))

    costs = take_turns(list(contestants), options.rounds, run)
    more = {"threads": options.threads, "bad": len(numbers) / len(images.files)}
    lines = []
    for name, taken in costs.items():
        us = 1e6 * middle(one.wall_s for one in taken)[0]
        rows.add(name, "time", [one.wall_s for one in taken], "s", **more)
        line = [name + ", clean" * (name in clean), f"{us:.1f}", "", ""]
        if name not in clean:
            line[2:] = add_overhead(rows, name, taken, costs[contestants[name][1]], **more)
        lines.append(line)
    print(f"per delivered image, {options.rounds} interleaved rounds; {images.about}")
    print(f"{rows.heading()}\n")
    print(table(["what", "us per image", "more time (95 % interval)", "more CPU time"], lines))
    rows.write(options.out)


if __name__ == "__main__":
    main()
