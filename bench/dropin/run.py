"""What is one changed line worth? torch's DataLoader, and the same script with tundish.accelerate.

There are two datasets. "Photos" is an ImageFolder with RandomResizedCrop(224), flip and normalization.
"Readings" is a user's own dataset, whose code stays in use. Batches are compared before anything is
timed. Then the contestants take turns, each in a separate process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..common.images import prepare
from ..common.process import Job
from ..common.rounds import interval
from ..common.rows import ROOT, Rows, arguments, say, table

Runs = dict[str, list[tuple[float, float]]]  # (samples per second, samples per CPU second) per run

BATCH, SEED, READINGS = 64, 7, 4  # readings per photo
NAMES = {
    "torch_photos": "photos, torch's DataLoader",
    "accelerate_files": "photos, accelerate",
    "accelerate_pack": "photos, accelerate with a pack",
    "torch_readings": "readings, torch's DataLoader",
    "accelerate_readings": "readings, accelerate",
}
AGAINST = {
    "accelerate_files": ("torch_photos", 2.5),
    "accelerate_pack": ("torch_photos", 8.0),
    "accelerate_readings": ("torch_readings", 0.98),
}


def start(module: str, job: Job, work: Path, *words: str) -> dict[str, Any]:
    file = work / "job.json"
    job.write(file)
    line = [sys.executable, "-W", "ignore", "-m", f"bench.dropin.{module}", str(file), *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"bench: {module} failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def job_of(contestant: str, job: Job) -> Job:
    """Returns a job for the contestant's dataset. Readings have no files and load faster."""
    readings = ["reading"] * (READINGS * job.count)
    return replace(job, files=readings) if "readings" in contestant else job


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=7)
    parser.add_argument("--images", type=int, default=1600, help="least photos per run (1600)")
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    parser.add_argument("--only", default="", help="contestants with this word: photos, readings")
    parser.add_argument("--cores", type=int, default=1, help="cores, workers and threads (1)")
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "dropin"
    rows = Rows("dropin", "torchvision")
    images = prepare(options.data, work, 4 * BATCH, 0 if options.cached else None, codecs=["lanes"])
    rows.set_data(images.about, images.name, images.digest)
    epochs = max(1, -(-options.images // len(images.files)))
    cpus = sorted(os.sched_getaffinity(0))[: options.cores]
    job = Job(str(images.pack), "", images.files, "", SEED, epochs, BATCH, 2, len(cpus), cpus)

    racing = [name for name in NAMES if options.only in NAMES[name]]
    say("comparing batches with torch's")
    found = start("same_batches", job, work, *racing)
    wrong = {name: text for name, text in found.items() if text != "exact"}
    for name, text in wrong.items():
        rows.note(NAMES[name], "samples_per_s", f"{text}: no time")
        say(f"  {NAMES[name]}: {text}: no time")
    racing = [name for name in racing if name not in wrong]
    runs: Runs = {name: [] for name in racing}
    for number in range(options.rounds):
        for name in racing if number % 2 == 0 else racing[::-1]:
            out = start(name, job_of(name, job), work)
            per_s, per_cpu_s = (out["timed_images"] / out[key] for key in ("seconds", "cpu_s"))
            runs[name].append((per_s, per_cpu_s))
        shown = ", ".join(f"{name} {runs[name][-1][0]:,.0f}/s" for name in racing)
        say(f"round {number + 1} of {options.rounds}: {shown}")
    print(f"batches of {BATCH} on {len(cpus)} of the cores; {images.about}\n{rows.heading()}\n")
    print(report(rows, runs, len(cpus)))
    rows.write(options.out)


def report(rows: Rows, runs: Runs, cores: int) -> str:
    lines = []
    for name, values in runs.items():
        rate = rows.add(
            NAMES[name], "samples_per_s", [per_s for per_s, _ in values], "samples/s", cores=cores
        )
        line = [NAMES[name], f"{rate:,.0f}", "", "", "", ""]
        other, bar = AGAINST.get(name, ("", 0.0))
        if other in runs:
            wall, cpu = ratios(values, runs[other])
            middle, cost = interval(wall), interval(cpu)
            more = {"low": middle.low, "high": middle.high, "bar": bar, "cores": cores}
            rows.add(f"{NAMES[name]} / torch", "ratio", wall, "x", **more)
            more |= {"low": cost.low, "high": cost.high}
            rows.add(f"{NAMES[name]} / torch", "ratio_by_cpu_time", cpu, "x", **more)
            line[2:] = [f"{middle.median:.2f}x", f"{middle.low:.2f} to {middle.high:.2f}"]
            line += [f"{cost.median:.2f}x ({cost.low:.2f} to {cost.high:.2f})", f"{bar}x"]
        lines.append(line)
    head = ["contestant", "samples/s", "against torch", "95 % interval", "by CPU time", "bar"]
    return table(head, lines)


def ratios(
    ours: list[tuple[float, float]], theirs: list[tuple[float, float]]
) -> tuple[list[float], list[float]]:
    """Returns the ratios per round, by wall time and by CPU time. Other load disturbs CPU time less."""
    pairs = list(zip(ours, theirs, strict=True))
    return [one[0] / other[0] for one, other in pairs], [one[1] / other[1] for one, other in pairs]


if __name__ == "__main__":
    main()
