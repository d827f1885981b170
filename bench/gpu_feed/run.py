"""Is training from packed photos as fast as training on a batch that is already in GPU memory?

    ./dev gpu run feed       or: python -m bench.gpu_feed.run --pack photos.tnd --out gpu_feed.json
    python -m bench.gpu_feed.run --device cpu --model tiny --pack FILE.tnd     a dry run
    python -m bench.gpu_feed.run --draw gpu_feed.json                          the chart again

The models are ResNet-50 and ResNet-18. A step is forward, backward and SGD in bfloat16, channels_last,
compiled, on a batch of 512 images from RandomResizedCrop(224). The contestants are modes of
tundish.Loader: decoding on the CPU, on the GPU, on the device that it chooses, and from a pack in GPU
memory. They take turns with the baseline, and ratios are computed within a round. Before that, the
first batch of every loader is compared with a batch made on the CPU. torch's DataLoader and an nvJPEG
loop run once for comparison. If time is short, turns have fewer steps.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import tundish

from ..common.images import last_level_cache
from ..common.rows import ROOT, Rows, say
from . import nvjpeg_loop, ours, resident_batch, torch_dataloader
from .busy import Busy
from .contest import MODES, Contest, Sizes
from .feed import Feed, Job
from .report import Results, add_rows, draw, tables
from .step import Training


@dataclass(frozen=True)
class Model:
    steps: int  # steps per turn
    threads: int  # threads for decoding on the CPU
    share: float  # share of the total time, mostly needed for compiling


# The model with the shortest step is last. It also measures starts of loaders and counts waits. The
# trace comes at the very end, because it may slow down later work.
MODELS = {
    "resnet50": Model(30, 4, 0.64),
    "resnet18": Model(60, 9, 0.36),
    "tiny": Model(3, 2, 1.0),
}
RESERVE_S = {True: 45.0, False: 8.0}  # time for work after the rounds; True: if waits are counted
RIVALS = (torch_dataloader, nvjpeg_loop)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pack", type=Path, default=ROOT / "build/gpu/photos.tnd")
    parser.add_argument("--photos", type=Path, help="the same photos as JPEG files")
    parser.add_argument("--out", type=Path, help="write the rows as JSON, and the chart as .svg")
    parser.add_argument("--draw", type=Path, metavar="JSON", help="only the chart of such rows")
    parser.add_argument("--model", nargs="+", choices=MODELS, default=["resnet50", "resnet18"])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--batch", type=int, help="512; of a dry run 8")
    parser.add_argument("--rounds", type=int, help="10; of a dry run 3")
    parser.add_argument("--steps", type=int, help="of a turn; 60 for ResNet-18, 30 for ResNet-50")
    parser.add_argument("--copies", type=int, help="of the pack; until they exceed the caches")
    parser.add_argument("--only", nargs="+", help="words in the names of contestants")
    parser.add_argument("--without-counts", action="store_true", help="of waits and starts")
    parser.add_argument("--rivals", nargs="+", help="models beside which rivals are shown")
    parser.add_argument("--seconds-budget", type=float, default=380.0)
    return parser.parse_args()


def copy_pack(pack: Path, folder: Path, copies: int | None, device: str) -> list[str]:
    """Makes real copies of the pack until they exceed any CPU cache. Returns their paths."""
    if copies is None:
        wanted = min(2**30, 4 * last_level_cache()) if device == "cuda" else 1
        copies = -(-wanted // pack.stat().st_size)
    return [shutil.copy(pack, folder / f"{number:03}.tnd") for number in range(copies)]


def make_job(options: argparse.Namespace, folder: Path) -> Job:
    packs = copy_pack(options.pack, folder, options.copies, options.device)
    photos = options.photos or options.pack.parent / "photos"
    files = sorted(str(f) for f in photos.rglob("*") if f.suffix.lower() in (".jpg", ".jpeg"))
    dry = options.device == "cpu"
    return Job(
        packs=packs,
        images=len(tundish.Dataset(packs)),
        files=files,
        batch=options.batch or (8 if dry else 512),
        device=options.device,
        threads=1,
        workers=2 if dry else 16,
        epoch_steps=4 if dry else 200,
    )


class Run:
    def __init__(self, options: argparse.Namespace, job: Job) -> None:
        self.begin = time.monotonic()
        self.options, self.job = options, job
        self.failed = False
        self.rows = Rows("gpu_feed", "torchvision", command="./dev gpu run feed")
        about = f"{job.images} images: {len(job.packs)} copies of one pack"
        digest = hashlib.sha256(options.pack.read_bytes()).hexdigest()[:16]
        self.rows.set_data(about, options.pack.name, digest)
        # The order matters: rows record the machine's load, then workers are forked, then threads start.
        self.rivals = self.open_rivals()
        self.busy = Busy(job.device)

    def takes_part(self, name: str) -> bool:
        words = self.options.only
        return not words or any(word in name for word in words)

    def with_rivals(self, model: str) -> bool:
        return self.options.rivals is None or model in self.options.rivals

    def counts(self, number: int) -> bool:
        """Returns whether waits are counted, which happens only for the last model."""
        return number + 1 == len(self.options.model) and not self.options.without_counts

    def open_rivals(self) -> dict[str, Feed | str]:
        """Returns the feed of each rival, or the reason why it is unavailable."""
        out: dict[str, Feed | str] = {}
        for module in RIVALS:
            if self.takes_part(module.NAME):
                try:
                    out[module.NAME] = module.make(self.job)
                except Exception as error:
                    out[module.NAME] = f"{type(error).__name__}: {error}"
        return out

    def sizes(self, model: str) -> Sizes:
        dry = self.job.device == "cpu"
        return Sizes(
            rounds=self.options.rounds or (3 if dry else 10),
            steps=self.options.steps or MODELS[model].steps,
            warm_up=1 if dry else 4,
            count_steps=2 if dry else 10,
            starts=1 if dry else 3,
        )

    def model(self, name: str, deadline: float, with_counts: bool) -> None:
        say(f"{name}, {time.monotonic() - self.begin:.0f} s")
        results = Results(name, self.job.batch)

        def write() -> None:
            add_rows(self.rows, results)
            self.rows.write(self.options.out, quiet=True)

        cores = len(os.sched_getaffinity(0))
        job = replace(self.job, threads=min(MODELS[name].threads, cores))
        first = ours.first_batch(job, cores)
        job = replace(job, first=first)
        begin = time.monotonic()
        training = Training(name, job.device)
        training.warm_up(first)
        results.about |= {"compiled": training.compiled}
        say(f"  compiled: {training.compiled} {training.why_not}, {time.monotonic() - begin:.0f} s")

        contest = Contest(job, training, self.sizes(name), self.busy, results, write)
        try:
            for module in MODES:
                if self.takes_part(module.NAME):
                    contest.open(module)
            contest.rounds(deadline - RESERVE_S[with_counts])
            for rival, feed in self.rivals.items() if self.with_rivals(name) else ():
                if isinstance(feed, str):
                    results.failed[rival] = feed
                else:
                    steps = 2 * job.workers if rival == torch_dataloader.NAME else 8
                    contest.beside(rival, feed, steps)
            if with_counts:
                contest.measure_starts(deadline)
                contest.count_waits()
        finally:
            write()
            contest.close_all()
        print(tables(results), flush=True)
        ours_failed = [n for n in results.failed if n.startswith("tundish")]
        self.failed |= bool(ours_failed) or resident_batch.NAME in results.failed

    def all(self) -> None:
        names = self.options.model
        for number, name in enumerate(names):
            share = sum(MODELS[one].share for one in names[: number + 1])
            share /= sum(MODELS[one].share for one in names)
            deadline = self.begin + share * self.options.seconds_budget
            try:
                self.model(name, deadline, with_counts=self.counts(number))
            except Exception as error:
                say(f"{name} fails: {type(error).__name__}: {error}")
                self.rows.note(resident_batch.NAME, "failure", str(error)[:600], model=name)
                self.failed = True
            if self.job.device == "cuda":
                with contextlib.suppress(RuntimeError):  # raised after an error of the GPU
                    torch.cuda.empty_cache()
        for feed in self.rivals.values():
            if isinstance(feed, Feed):
                feed.close()
        self.busy.close()


def main() -> int:
    options = arguments()
    if options.draw:
        options.draw.with_suffix(".svg").write_text(draw(options.draw))
        return 0
    # If the benchmark hangs, dump the stack of every thread. Rows that are already written are kept.
    faulthandler.dump_traceback_later(options.seconds_budget + 60, exit=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, make_job(options, Path(folder)))
        run.all()
    print(run.rows.heading())
    run.rows.write(options.out)
    if options.out:
        options.out.with_suffix(".svg").write_text(draw(options.out))
    faulthandler.cancel_dump_traceback_later()
    return int(run.failed)


if __name__ == "__main__":
    sys.exit(main())
