"""Part two of `bench augment`: whole recipes, from files or a pack to float32 batches, on one core.

Compares tundish.Loader with one thread to torch's DataLoader with num_workers=0 and torchvision's
transforms on PIL images. Each draws its own random numbers, so pixels cannot be compared here. The
mean and deviation of the batches are compared instead; part one compares the pixels of operations.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tundish.report.chart import Bar, bar_chart

from ..common.images import prepare
from ..common.process import Job
from ..common.rows import CPUS, Rows, middle, say, table

# Names of the recipes in the contestants, and their descriptions.
RECIPES = {
    "rsb": "RSB-A2-like: crop, flip, RandAugment, Normalize, RandomErasing",
    "deit3": "DeiT-III-like: crop, flip, 3-Augment, ColorJitter 0.3, Normalize",
    "simclr": "SimCLR-like, one view: crop, flip, ColorJitter, grayscale, GaussianBlur 23, Normalize",
}
SEED, BATCH = 7, 50
# On a busy machine, CPU time is more reliable than wall time.
RATIOS = {"images_per_s": "ratio", "images_per_cpu_s": "ratio_by_cpu_time"}
NEAR = 0.25  # allowed difference in the means, and in the deviations, of normalized elements


@dataclass(frozen=True)
class Contestant:
    name: str
    module: str
    reads: str  # name of the Job member with the path to read
    cpu: str = ""


DATALOADER = "torch DataLoader + torchvision"
CONTESTANTS = [
    *[Contestant(f"tundish, {CPUS[c]}", "recipe_tundish", "pack", c) for c in ("avx512", "avx2")],
    Contestant("tundish, JPEGs kept", "recipe_tundish", "jpeg_pack"),
    Contestant(DATALOADER, "recipe_torchvision", "files"),
]


def start(who: Contestant, recipe: str, job: Job, work: Path) -> dict[str, Any]:
    """Runs a contestant's process and returns the JSON that it printed."""
    file = work / "job.json"
    replace(job, pack=job.jpeg_pack if who.reads == "jpeg_pack" else job.pack).write(file)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"bench.augment.{who.module}", file, recipe],
        capture_output=True,
        text=True,
        env=os.environ | ({"TUNDISH_CPU": who.cpu} if who.cpu else {}),
    )
    if done.returncode != 0:
        raise SystemExit(f"bench: {who.name} failed: {done.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def spread_of(who: Contestant, recipe: str, job: Job, work: Path) -> tuple[float, float]:
    """Returns the mean and deviation of all elements in the first batches."""
    kept = work / "kept.npz"
    start(who, recipe, replace(job, keep=str(kept)), work)
    with np.load(kept) as file:
        images = file["images"]
    kept.unlink()
    return float(images.mean()), float(images.std())


def judge(job: Job, recipe: str, work: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Returns a comment on each contestant's batches, and the reasons why some are not timed."""
    found = {who.name: spread_of(who, recipe, job, work) for who in CONTESTANTS}
    usual = found[DATALOADER]
    said, refused = {}, {}
    for name, pair in found.items():
        said[name] = f"mean {pair[0]:.2f}, deviation {pair[1]:.2f}"
        if max(abs(a - b) for a, b in zip(pair, usual, strict=True)) > NEAR:
            refused[name] = f"other batches ({said[name]}): no time"
    return said, refused


def run(options: argparse.Namespace, work: Path) -> None:
    rows = Rows("augment", "torchvision")
    images = prepare(options.data, work, options.images, 0 if options.cached else None)
    rows.set_data(images.about, images.name, images.digest)
    batch = min(BATCH, max(1, len(images.files) // 4))
    core = min(os.sched_getaffinity(0))
    files = images.files[: max(options.images, 4 * batch)]
    job = Job(str(images.pack), str(images.jpeg_pack), files, "", SEED, 1, batch, 1, cpus=[core])
    text = [f"float32 batches of {batch}, one core; {images.about}", rows.heading()]
    panels = []
    for recipe in options.recipes or RECIPES:
        about = RECIPES[recipe]
        say(f"{about}: comparing batches")
        said, refused = judge(job, recipe, work)
        rates = race(job, recipe, work, options.rounds, [*refused])
        text += ["", about, report(rows, recipe, rates, said, refused)]
        medians = {name: middle(found["images_per_cpu_s"])[0] for name, found in rates.items()}
        bars = [Bar(name, m, f"{m:,.0f}", "tundish" in name) for name, m in medians.items()]
        panels.append((f"{about.partition(':')[0]}, images per second of CPU time", bars))
    print("\n".join(text))
    rows.write(options.out, bar_chart(panels, "images per second of whole recipes", left=270))


Rates = dict[str, dict[str, list[float]]]  # rates by contestant and metric, one per round


def race(job: Job, recipe: str, work: Path, rounds: int, refused: list[str]) -> Rates:
    racing = [who for who in CONTESTANTS if who.name not in refused]
    rates: Rates = {who.name: {metric: [] for metric in RATIOS} for who in racing}
    for number in range(rounds):
        turn = number % len(racing)
        for who in [*racing[turn:], *racing[:turn]]:
            out = start(who, recipe, job, work)
            for metric, time in (("images_per_s", "seconds"), ("images_per_cpu_s", "cpu_s")):
                rates[who.name][metric].append(out["timed_images"] / out[time])
        last = {name: found["images_per_cpu_s"][-1] for name, found in rates.items()}
        say(", ".join(f"{name} {rate:.0f}" for name, rate in last.items()))
    return rates


def report(
    rows: Rows, recipe: str, rates: Rates, said: dict[str, str], refused: dict[str, str]
) -> str:
    lines = []
    for name, reason in refused.items():
        rows.note(name, "images_per_s", reason, recipe=recipe)
        lines.append([name, reason, *["-"] * 4])
    for name, found in rates.items():
        line = [name, said[name]]
        for metric, ratio in RATIOS.items():
            unit = "images/s"
            rate = rows.add(name, metric, found[metric], unit, recipe=recipe, batches=said[name])
            pairs = zip(found[metric], rates[DATALOADER][metric], strict=True)
            gains = [ours / theirs for ours, theirs in pairs]
            gain = rows.add(f"{name} / {DATALOADER}", ratio, gains, "x", recipe=recipe)
            line += [f"{rate:,.0f}", f"{gain:.2f}"]
        lines.append(line)
    head = ["contestant", "elements", "img/s", "x DataLoader", "img / CPU s", "x by CPU time"]
    return table(head, lines)
