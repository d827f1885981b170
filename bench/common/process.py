"""The process of a contestant: receives a job, runs it once and prints the measurements as JSON.

Each run has its own process. Its memory and CPU time belong to the contestant alone, and no run
warms up another.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

KEPT = 256  # number of images per contestant to compare with the reference


@dataclass(frozen=True)
class Job:
    pack: str
    jpeg_pack: str  # the same images as unchanged JPEGs
    files: list[str]
    draws: str  # .npy: x, y, width, height, mirrored; row epoch * count + sample
    seed: int
    epochs: int
    batch: int
    warm: int  # number of batches before the clock starts
    threads: int = 1
    cpus: list[int] = field(default_factory=list)
    keep: str = ""  # if set, write the pixels of the first KEPT draws to this .npz, without timing
    own: str = ""  # path of data in a contestant's own format, written in the `keep` run

    @property
    def count(self) -> int:
        return len(self.files)

    @property
    def batches(self) -> int:
        return self.epochs * (self.count // self.batch)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))


def draw_batches(job: Job) -> Iterator[list[int]]:
    """Yields the draw numbers of each batch, reshuffled in every epoch.

    For contestants that do not define an order.
    """
    for epoch in range(job.epochs):
        order = np.random.default_rng(epoch).permutation(job.count) + epoch * job.count
        for first in range(0, job.count - job.batch + 1, job.batch):
            yield order[first : first + job.batch].tolist()


def run(batches: Callable[[Job], Iterable[tuple[Any, Any]]]) -> None:
    """Measures `batches(job)`, which creates the loader and yields (images, draw numbers)."""
    job = Job(**json.loads(Path(sys.argv[1]).read_text()))
    os.sched_setaffinity(0, job.cpus)
    print(json.dumps(_keep(batches, job) if job.keep else _time(batches, job)))


def unavailable(reason: object) -> None:
    """Ends the process with the reason why this contestant cannot run here."""
    print(json.dumps({"unavailable": str(reason).strip().splitlines()[0]}))
    sys.exit(0)


def _keep(batches: Callable[[Job], Iterable[tuple[Any, Any]]], job: Job) -> dict[str, Any]:
    images, draws = [], []
    for pixels, numbers in batches(job):
        # Copies, because a loader may reuse this batch's memory for a later batch, as FFCV does.
        pixels = np.array(pixels)
        images.append(pixels.transpose(0, 2, 3, 1) if pixels.shape[1] == 3 else pixels)
        draws.append(np.array(numbers))
        if sum(map(len, images)) >= KEPT:
            break
    np.savez(job.keep, images=np.concatenate(images), draws=np.concatenate(draws))
    return {}


def _time(batches: Callable[[Job], Iterable[tuple[Any, Any]]], job: Job) -> dict[str, Any]:
    imported = _memory_mb("VmRSS")
    begin = time.perf_counter()
    images, first, images_warm = 0, 0.0, 0
    warmed, cpu, cost = begin, _cpu_seconds(), {}
    for count, (pixels, _) in enumerate(batches(job), 1):
        now = time.perf_counter()
        images += len(pixels)
        if count == 1:
            first = now - begin
        if count == job.warm:
            warmed, images_warm, cpu = now, images, _cpu_seconds()
        if count == job.batches:
            end = now
            # Measured now, not at the end, because work for the next epoch must not count.
            peak = _memory_mb("VmHWM")
            cost = {"cpu_s": _cpu_seconds() - cpu}
            cost |= {"peak_rss_mb": peak, "rss_beyond_imports_mb": peak - imported}
    timed = {"timed_images": images - images_warm, "seconds": end - warmed, "first_batch_s": first}
    return {"images": images, **timed, **cost}


def _family() -> list[Path]:
    """Returns the /proc folders of this process and its worker processes."""
    children: dict[str, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        children.setdefault(parent, []).append(stat.parent.name)
    found = [str(os.getpid())]
    for one in found:  # the list grows during the loop
        found += children.get(one, [])
    return [Path("/proc", one) for one in found]


def _cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of its workers, including workers that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = 0
    for folder in _family()[1:]:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # utime, stime
    ours = time.process_time()  # more precise than ticks
    return ours + ticks / os.sysconf("SC_CLK_TCK") + ended.ru_utime + ended.ru_stime


def _memory_mb(key: str) -> float:
    """Returns the resident memory of this process and its workers. Counts shared pages repeatedly."""
    kib = 0
    for folder in _family():
        for line in (folder / "status").read_text().splitlines():
            if line.startswith(key + ":"):
                kib += int(line.split()[1])
    return kib / 1024
