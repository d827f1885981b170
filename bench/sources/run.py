"""How fast do batches arrive from other formats? On one core, against the usual Python reader.

JPEGs go through RandomResizedCrop(224) and flip with given crops, and are compared with Pillow's pixels.
Arrays stay unchanged and are compared with the written data. The contestants take turns, each in a
separate process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tundish.report.chart import Bar, bar_chart

from ..common import peers
from ..common.images import prepare
from ..common.process import Job
from ..common.rows import ROOT, Rows, arguments, middle, say, table
from ..load.run import compare
from ..load.turbo_full import plans
from .write_files import RAW_COUNT, expected

BATCH, SEED = 64, 7


@dataclass(frozen=True)
class Format:
    name: str  # name in the table
    file: str  # name of the file: jpeg.* or raw.*
    rival: str  # module of the rival
    peer: str  # environment of the format's library, see peers.py; empty: the format is NumPy's
    rival_name: str
    bar: float  # goal: how many times as fast as the rival ours should be
    epochs: int = 1  # number of epochs; more if an epoch of arrays takes only a tenth of a second


FORMATS = [
    Format("TFRecord of JPEGs", "jpeg.tfrecord", "tfrecord", "tfrecord", "tfrecord", 5),
    Format("LMDB of JPEGs", "jpeg.lmdb", "lmdb", "lmdb", "lmdb", 5),
    Format("HDF5 of JPEGs", "jpeg.h5", "hdf5", "h5py", "h5py", 5),
    Format("TFRecord of floats", "raw.tfrecord", "tfrecord", "tfrecord", "tfrecord", 5, 5),
    Format("HDF5 in chunks, gzip", "raw.h5", "hdf5", "h5py", "h5py", 5),
    Format("Zarr 3, zstd", "raw.zarr", "zarr", "zarr", "zarr", 5),
    Format(".npy", "raw.npy", "npy", "", "np.load(mmap_mode='r')", 1, 5),
    Format("LMDB of Datums", "raw.lmdb", "lmdb", "lmdb", "lmdb", 1, 5),
]
PEERS = sorted({one.peer for one in FORMATS} - {""})


def python_of(peer: str) -> Path | None:
    return peers.python_of(peer) if peer else Path(sys.executable)


def start(python: Path, module: str, words: list[str]) -> dict[str, Any]:
    line = [str(python), "-m", f"bench.sources.{module}", *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        return {"unavailable": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads((done.stdout.strip().splitlines() or ["{}"])[-1])


class Race:
    """The runs of both contestants, for every format in which both can run and return correct data."""

    def __init__(self, job: Job, images: Any, draws: np.ndarray, work: Path) -> None:
        self.job, self.images, self.draws, self.work = job, images, draws, work
        self.runs: dict[tuple[str, str], list[dict[str, float]]] = {}
        self.refused: dict[str, str] = {}

    def job_of(self, one: Format) -> Job:
        own = str(self.work / one.file)
        if one.file.startswith("jpeg"):
            return replace(self.job, own=own)
        return replace(self.job, own=own, files=["array"] * RAW_COUNT, epochs=one.epochs)

    def run(self, one: Format, contestant: str, job: Job) -> dict[str, Any]:
        ours = contestant == "tundish"
        python = Path(sys.executable) if ours else python_of(one.peer)
        assert python is not None
        file = self.work / "job.json"
        job.write(file)
        return start(python, "tundish_direct" if ours else f"torch_{one.rival}", [str(file)])

    def prepare(self, one: Format) -> str:
        """Writes the file and compares the data that both read. Returns a reason to skip the format, or ""."""
        python = python_of(one.peer)
        if python is None:
            return f"{one.peer} is not installed; --peers installs it"
        job = self.job_of(one)
        file = self.work / "job.json"
        job.write(file)
        written = start(python, "write_files", [one.rival, str(file)])
        if "unavailable" in written:
            return f"it could not be written: {written['unavailable']}"
        for contestant in ("tundish", "rival"):
            kept = self.work / "kept.npz"
            answer = self.run(one, contestant, replace(job, keep=str(kept)))
            if "unavailable" in answer:
                return f"{contestant} failed: {answer['unavailable']}"
            if wrong := self.fault_of(one, job, kept):
                return f"{contestant}: {wrong}"
        return ""

    def fault_of(self, one: Format, job: Job, kept: Path) -> str:
        if one.file.startswith("jpeg"):
            mean, largest = compare(kept, self.images, self.draws)
            return "" if largest == 0 else f"wrong pixels: MAD {mean:.3f}, max {largest}"
        with np.load(kept) as file:
            found, numbers = file["images"], file["draws"]
        if found.ndim == 4 and found.shape[3] == 3:  # our images are channels_last
            found = found.transpose(0, 3, 1, 2)
        same = np.array_equal(
            found.reshape(len(found), -1),
            expected(job, numbers % job.count).reshape(len(found), -1),
        )
        return "" if same else "wrong arrays"

    def round(self, formats: list[Format], turn: int) -> None:
        for one in formats:
            pair = ("tundish", "rival")
            for contestant in pair if turn % 2 == 0 else pair[::-1]:
                out = self.run(one, contestant, self.job_of(one))
                if "unavailable" in out:
                    raise SystemExit(f"bench: {one.name}, {contestant}: {out['unavailable']}")
                out["rate"] = out["timed_images"] / out["seconds"]
                self.runs.setdefault((one.name, contestant), []).append(out)


def report(rows: Rows, race: Race, formats: list[Format], about: str) -> str:
    lines = []
    for one in formats:
        if reason := race.refused.get(one.name):
            rows.note(one.name, "samples_per_s", reason)
            lines.append([one.name, one.rival_name, reason, "", "", ""])
            continue
        ours, theirs = (race.runs[one.name, who] for who in ("tundish", "rival"))
        rates = [
            rows.add(
                f"{one.name}: {who}",
                "samples_per_s",
                [run["rate"] for run in runs],
                "samples/s",
                cores=1,
            )
            for who, runs in (("tundish", ours), (one.rival_name, theirs))
        ]
        ratios = [a["rate"] / b["rate"] for a, b in zip(ours, theirs, strict=True)]
        ratio = rows.add(one.name, "ratio", ratios, "x", cores=1, bar=one.bar)
        lines.append(
            [
                one.name,
                one.rival_name,
                f"{rates[0]:,.0f}",
                f"{rates[1]:,.0f}",
                f"{ratio:.2f}x +-{100 * middle(ratios)[1]:.0f} %",
                f"{one.bar:.0f}x",
            ]
        )
    head = ["format", "usual reader", "tundish, samples/s", "reader + DataLoader", "ratio", "bar"]
    return f"one core, batches of {BATCH}; {about}\n{rows.heading()}\n\n{table(head, lines)}"


def chart(race: Race, formats: list[Format]) -> str:
    panels = []
    for one in [one for one in formats if one.name not in race.refused]:
        bars = []
        for who, name in (("tundish", "tundish"), ("rival", f"{one.rival_name} + DataLoader")):
            rate = float(np.median([run["rate"] for run in race.runs[one.name, who]]))
            bars.append(Bar(name, rate, f"{rate:,.0f}", who == "tundish"))
        panels.append((f"{one.name}, samples/s on one core", bars))
    return bar_chart(panels, "samples per second from each format", left=260)


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=5)
    names = [one.file for one in FORMATS]
    parser.add_argument("--images", type=int, default=1000, help="least JPEGs per run (1000)")
    parser.add_argument(
        "--only", nargs="+", choices=names, default=names, metavar="FILE", help=", ".join(names)
    )
    parser.add_argument("--peers", action="store_true", help="install the readers first")
    options = parser.parse_args()
    if options.peers:
        peers.install_all(PEERS)
    formats = [one for one in FORMATS if one.file in options.only]
    work = options.work or ROOT / "build" / "bench" / "sources"
    rows = Rows("sources", "torch", more=peers.versions(PEERS))
    images = prepare(options.data, work, options.images, codecs=("keep",))
    rows.set_data(images.about, images.name, images.digest)
    draws = plans(str(images.jpeg_pack), SEED, 1)
    np.save(work / "draws.npy", draws)
    core = sorted(os.sched_getaffinity(0))[:1]
    job = Job(
        "", "", images.files, str(work / "draws.npy"), SEED, 1, BATCH, warm=2, threads=1, cpus=core
    )
    race = Race(job, images, draws, work)
    for one in formats:
        if reason := race.prepare(one):
            race.refused[one.name] = reason
        say(f"  {one.name}: {race.refused.get(one.name, 'equal content')}")
    racing = [one for one in formats if one.name not in race.refused]
    for number in range(options.rounds):
        race.round(racing, number)
        say(f"round {number + 1} of {options.rounds}")
    print(report(rows, race, formats, images.about))
    rows.write(options.out, chart(race, formats))


if __name__ == "__main__":
    main()
