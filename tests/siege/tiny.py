"""Does every format open within seconds and a memory limit, whatever a small file claims?

Opens random files of tests/siege/tiny_files.py with `tundish info`, one process each. The exit code
is 1 if a process was ended by a signal, took more than --seconds of CPU time, or used more than
--mib of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.program import PROGRAM
from tests.siege import tiny_files
from tests.siege.progress import Progress

MIB = 1 << 20


@dataclass
class Opening:
    """One `tundish info`: its exit status (negative for a signal), CPU seconds, and peak memory."""

    status: int
    cpu_s: float
    peak_mib: float


@dataclass
class Tally:
    files: int = 0
    opened: int = 0
    refused: int = 0
    largest_bytes: int = 0
    worst_cpu_s: float = 0.0
    worst_mib: float = 0.0
    failures: list[dict[str, Any]] = field(default_factory=list)


def open_file(path: Path, cpu_limit_s: int) -> Opening:
    """Opens a file in a process that is killed at twice the limit of CPU time."""
    pid = os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (2 * cpu_limit_s, 2 * cpu_limit_s))
        os.environ["XDG_CACHE_HOME"] = str(path.parent / "cache")
        os.execv(PROGRAM, [str(PROGRAM), "info", str(path)])
    _, status, usage = os.wait4(pid, 0)
    cpu_s = usage.ru_utime + usage.ru_stime
    return Opening(os.waitstatus_to_exitcode(status), cpu_s, usage.ru_maxrss / 1024)


def stored_bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def check_format(
    name: str, first: int, count: int, limits: Any, keep: Path, shown: Progress
) -> Tally:
    tally = Tally()
    for seed in range(first, first + count):
        folder = keep / f"{name}-{seed}"
        path = tiny_files.make(name, seed, folder)
        tally.largest_bytes = max(tally.largest_bytes, stored_bytes(path))
        opening = open_file(path, limits.seconds)
        tally.files += 1
        tally.opened += opening.status == 0
        tally.refused += opening.status > 0
        tally.worst_cpu_s = max(tally.worst_cpu_s, opening.cpu_s)
        tally.worst_mib = max(tally.worst_mib, opening.peak_mib)
        if opening.status < 0 or opening.cpu_s > limits.seconds or opening.peak_mib > limits.mib:
            repeat = f"./dev siege tiny --only {name} --seed {seed} --files 1"
            failure = {"seed": seed, **vars(opening), "kept": str(folder), "repeat": repeat}
            tally.failures.append(failure)
            print(f"\nFAILS: {name}: {failure}", flush=True)
        else:
            shutil.rmtree(folder)
        shown.step(1, name)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev siege tiny", description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100, help="files of each format (100)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="FIRST", help="number of the first file"
    )
    parser.add_argument("--only", nargs="+", choices=tiny_files.MAKERS, help="these formats")
    parser.add_argument(
        "--seconds", type=int, default=2, help="CPU seconds that a file may take (2)"
    )
    parser.add_argument("--mib", type=int, default=512, help="memory that a file may take (512)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the tallies")
    options = parser.parse_args()
    if not PROGRAM.exists():
        parser.error(f"{PROGRAM} does not exist")  # every file would count as refused
    names = options.only or list(tiny_files.MAKERS)
    keep = Path(tempfile.mkdtemp(prefix="tundish-tiny-"))
    shown = Progress(options.files * len(names))
    tallies = {
        name: check_format(name, options.seed, options.files, options, keep, shown)
        for name in names
    }
    shown.end()
    print(
        f"{'format':12} {'files':>6} {'opened':>6} {'refused':>7} {'bytes':>9} {'CPU s':>6} {'MiB':>6}"
    )
    for name, tally in tallies.items():
        print(
            f"{name:12} {tally.files:6} {tally.opened:6} {tally.refused:7} {tally.largest_bytes:9,} "
            f"{tally.worst_cpu_s:6.2f} {tally.worst_mib:6.0f}"
        )
    if options.json:
        options.json.write_text(
            json.dumps({name: vars(t) for name, t in tallies.items()}, indent=1)
        )
    failed = sum(len(tally.failures) for tally in tallies.values())
    print(f"{sum(t.files for t in tallies.values())} files, {failed} failed", flush=True)
    if not failed:
        shutil.rmtree(keep)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
