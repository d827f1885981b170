"""How long does opening an HDF5 file take as its chunks grow in number?

Tundish opens the file as a source and finds the address of every chunk. Its time is the time of
`tundish info`, including the start of the process and imports. h5py lists the same chunks with
`chunk_iter`. Its time does not include imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from tundish.report.chart import Bar, bar_chart

from ..common import peers
from ..common.images import TUNDISH
from ..common.rows import ROOT, Rows, arguments, say, table

# Must match write_chunks.py, which cannot be imported here, because it imports h5py.
INDEXES = ("B-tree version 1", "fixed array", "extensible array", "B-tree version 2")


def run_module(module: str, *words: str) -> str:
    line = [str(peers.python_of("h5py")), "-m", f"bench.opening.{module}", *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def remove_index(file: Path) -> None:
    """Removes the index that Tundish stores next to the file, so that every run reads the file."""
    file.with_name(f".{file.name}.tndx").unlink(missing_ok=True)


def open_with_tundish(file: Path) -> tuple[int, float]:
    remove_index(file)
    begin = time.perf_counter()
    line = [str(TUNDISH), "info", str(file), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["records"], time.perf_counter() - begin


def open_with_h5py(file: Path) -> tuple[int, float]:
    count, seconds = run_module("h5py_chunks", str(file)).split()
    return int(count), float(seconds)


CONTESTANTS = {"Tundish": open_with_tundish, "h5py": open_with_h5py}


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=5)
    parser.add_argument(
        "--chunks", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N"
    )
    options = parser.parse_args()
    peers.install_all(["h5py"])
    if peers.python_of("h5py") is None:
        raise SystemExit("bench: h5py writes the files of this benchmark")
    rows = Rows("opening", more=peers.versions(["h5py"]))
    work = options.work or ROOT / "build" / "bench" / "opening"
    work.mkdir(parents=True, exist_ok=True)
    lines, bars = [], []
    for index in INDEXES:
        for chunks in options.chunks:
            file = work / f"{index.replace(' ', '-')}-{chunks}.h5"
            if not file.exists():
                say(f"writing {file.name}")
                run_module("write_chunks", f"{file}.part", index, str(chunks))
                os.rename(f"{file}.part", file)
            runs: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
            for round_number in range(options.rounds + 1):  # round 0 warms the page cache
                for name, open_file in CONTESTANTS.items():
                    count, seconds = open_file(file)
                    assert count == chunks, (name, count)
                    if round_number > 0:
                        runs[name].append(seconds)
            medians = {
                name: rows.add(name, "time", seconds, "s", index=index, chunks=chunks)
                for name, seconds in runs.items()
            }
            lines.append([index, f"{chunks:,}", *(f"{one:.3f}" for one in medians.values())])
            if chunks == options.chunks[-1]:
                bars += [
                    Bar(f"{name}, {index}", one, f"{one:.2f} s", name == "Tundish")
                    for name, one in medians.items()
                ]
    print(f"{rows.heading()}\n")
    print(table(["index", "chunks", *(f"{name} s" for name in CONTESTANTS)], lines))
    rows.write(
        options.out,
        bar_chart([("seconds", bars)], f"seconds to open {options.chunks[-1]:,} chunks", left=270),
    )


if __name__ == "__main__":
    main()
