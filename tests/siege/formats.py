"""Does Tundish read every format like its original library? Compares random files by value.

Each format has --files files. A file with a difference is kept, and a command that reproduces the
difference is printed. A refusal counts as correct only if it is documented. The exit code is 1 on
any difference.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.siege.progress import Progress

FORMATS = {  # module of tests/siege/originals: packages of the original library
    "hdf5": ("h5py", "hdf5plugin"),
    "zarr": ("zarr", "numcodecs"),
    "n5": ("z5py", "tensorstore"),
    "lmdb": ("lmdb",),
    "tfrecord": ("tfrecord", "protobuf"),
    "recordio": (),
    "numpy": ("numpy",),
    "safetensors": ("safetensors",),
    "pth": ("torch",),
    "tar": ("webdataset",),
    "csv": (),
    "folder": ("torchvision",),
    "idx": ("torchvision",),
    "cifar": (),
    "image": ("pillow",),
}
PER_PROCESS = 100  # files
SILENCE_S = 120  # a file that takes longer counts as hanging
WORST_READ = 0.5  # minimum share of a format's files that must be read


@dataclass
class Tally:
    """Counts of one format."""

    files: int = 0
    read: int = 0
    unwritten: int = 0  # files that the original library could not write
    refusals: Counter[str] = field(default_factory=Counter)
    differences: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, seed: int, result: dict[str, Any], folder: Path) -> None:
        self.files += 1
        self.unwritten += result.get("unwritten", 0)
        self.refusals.update(result.get("refusals", []))
        if "difference" in result:
            repeat = f"./dev siege formats --only {name} --seed {seed} --files 1"
            found = {"seed": seed, **result, "repeat": repeat, "kept": str(folder)}
            self.differences.append(found)
            print(f"\nDIFFERS: {name}: {result['difference']}\n  {result.get('about', '')}")
            print(f"  kept in {folder}; to repeat it: {repeat}", flush=True)
        elif not any(not one.startswith("field left out") for one in result["refusals"]):
            self.read += 1


def run_some(name: str, first: int, count: int, folder: Path, tally: Tally) -> None:
    """Checks files in processes; a crash or hang is a difference, and a new process continues."""
    seed = first
    while seed < first + count:
        words = [sys.executable, "-m", "tests.siege.originals.run", name, str(seed)]
        words += [str(first + count - seed), str(folder)]
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said, text=True)
            guard = _Guard(process)
            for line in process.stdout or []:
                guard.seen = time.monotonic()
                result = json.loads(line)
                if "seed" in result:
                    seed = result["seed"]
                    continue
                tally.add(name, seed, result, folder / f"{name}-{seed}")
                seed += 1
            process.wait()
            guard.end()
            if seed < first + count:
                said.seek(0)
                tail = said.read().decode(errors="replace")[-1500:]
                result = {"difference": f"the process ended with {process.returncode}: {tail}"}
                tally.add(name, seed, result, folder / f"{name}-{seed}")
                seed += 1


class _Guard:
    """Kills a process without output for SILENCE_S."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._ended = process, False
        self.seen = time.monotonic()
        self._pool = ThreadPoolExecutor(1)
        self._pool.submit(self._watch)

    def _watch(self) -> None:
        while not self._ended:
            time.sleep(0.2)
            if time.monotonic() - self.seen > SILENCE_S:
                self._process.kill()
                return

    def end(self) -> None:
        self._ended = True
        self._pool.shutdown()


def siege_format(name: str, options: argparse.Namespace, folder: Path) -> Tally:
    tally = Tally()
    progress = Progress(options.files, f"files of {name}")
    parts = [
        (first, min(PER_PROCESS, options.seed + options.files - first))
        for first in range(options.seed, options.seed + options.files, PER_PROCESS)
    ]

    def one(part: tuple[int, int]) -> int:
        run_some(name, *part, folder, tally)
        return part[1]

    with ThreadPoolExecutor(options.processes) as pool:
        for count in pool.map(one, parts):
            progress.step(count, f"{len(tally.differences)} differences")
    progress.end()
    if tally.read < WORST_READ * tally.files:
        reason = f"only {tally.read} of {tally.files} files were read"
        tally.differences.append({"difference": reason})
    refusals = "; ".join(f"{count} {reason}" for reason, count in tally.refusals.most_common())
    print(
        f"{name}: {tally.files:,} files, {tally.read:,} read, {len(tally.differences)} differences"
    )
    if refusals:
        print(f"  documented refusals: {refusals}")
    sys.stdout.flush()
    return tally


def versions() -> dict[str, str]:
    found = {}
    for package in sorted(
        {one for packages in FORMATS.values() for one in packages} | {"webdataset"}
    ):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev siege formats", description=__doc__)
    parser.add_argument("--files", type=int, default=2000, help="per format (2000)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first file (0)")
    parser.add_argument("--only", nargs="+", choices=list(FORMATS), metavar="FORMAT")
    parser.add_argument(
        "--json", type=Path, help="write counts, differences and versions to this file"
    )
    parser.add_argument("--keep", type=Path, help="folder for the files of differences")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main() -> int:
    options = parse()
    chosen = options.only or list(FORMATS)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="tundish-siege-"))
    begin, report, bad = time.monotonic(), {}, 0
    for name in chosen:
        tally = siege_format(name, options, folder)
        report[name] = {"files": tally.files, "read": tally.read, "unwritten": tally.unwritten}
        report[name] |= {"refusals": dict(tally.refusals), "differences": tally.differences}
        bad += len(tally.differences)
    seconds = round(time.monotonic() - begin)
    print(f"{len(chosen)} parts in {seconds // 60}:{seconds % 60:02}: {bad} differences")
    if options.json:
        about = {"command": "./dev siege formats " + " ".join(sys.argv[1:]), "seconds": seconds}
        about |= {
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
            "python": platform.python_version(),
        }
        about |= {"versions": versions()}
        options.json.write_text(json.dumps({**about, "formats": report}, indent=1) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
