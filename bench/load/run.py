"""How fast do augmented batches arrive? RandomResizedCrop(224) + flip, uint8, batches of 64.

All contestants make the same crops of the same images. Before a contestant is timed, its pixels are
compared with Pillow's. Then each round runs every contestant once on one core and once on all cores.
Contestants other than tundish run on all cores only in every fourth round.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from tundish.report.chart import Bar, bar_chart

from ..common import peers
from ..common.images import Images, prepare
from ..common.process import Job
from ..common.rows import CPUS, ROOT, Rows, arguments, say
from .contestants import CONTESTANTS, PEERS, data_bytes, is_ours, start, with_cpus
from .report import Runs, report
from .turbo_full import plans

BATCH, SEED = 64, 7
OTHERS_ON_ALL = 4  # other contestants run on all cores in one of this many rounds


def measure(contestant: str, job: Job, work: Path) -> dict[str, float]:
    out = start(contestant, job, work)
    if "unavailable" in out:
        raise SystemExit(f"bench: {contestant} failed while it was timed: {out['unavailable']}")
    return {
        "images_per_s": out["timed_images"] / out["seconds"],
        "first_batch_s": out["first_batch_s"],
        "peak_rss_mb": out["peak_rss_mb"],
        "rss_beyond_imports_mb": out["rss_beyond_imports_mb"],
        "cpu_s_per_1000": 1000 * out["cpu_s"] / out["timed_images"],
    }


def reference(images: Images, draws: np.ndarray, draw: int) -> np.ndarray:
    """Returns Pillow's pixels for one draw: crop, then resize, then flip."""
    x, y, width, height, mirrored = draws[draw].tolist()
    with Image.open(images.files[draw % len(images.files)]) as file:
        crop = file.convert("RGB").crop((x, y, x + width, y + height))
    crop = crop.resize((224, 224), Image.Resampling.BILINEAR)
    return np.asarray(crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else crop)


def compare(kept: Path, images: Images, draws: np.ndarray) -> tuple[float, int]:
    """Returns the mean and the largest difference from the reference, in levels."""
    with np.load(kept) as file:
        pixels, numbers = file["images"], file["draws"]
    total, largest = 0.0, 0
    for image, draw in zip(pixels, numbers, strict=True):
        difference = np.abs(image.astype(np.int16) - reference(images, draws, int(draw)))
        total += difference.mean()
        largest = max(largest, int(difference.max()))
    return total / len(pixels), largest


def judge(
    job: Job, images: Images, draws: np.ndarray, work: Path, chosen: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns a comment on each contestant's pixels, and the reasons why some are not timed."""
    output, refused = {}, {}
    for contestant in chosen:
        kept = work / "kept.npz"
        answer = start(contestant, replace(job, keep=str(kept)), work)
        if "unavailable" in answer:
            refused[contestant] = f"not available: {answer['unavailable']}"
            continue
        mean, largest = compare(kept, images, draws)
        kept.unlink()
        output[contestant] = "exact" if largest == 0 else f"MAD {mean:.3f}, max {largest}"
        if mean > CONTESTANTS[contestant].off:
            refused[contestant] = f"wrong pixels ({output[contestant]}): no time"
        say(f"  {CONTESTANTS[contestant].name}: {refused.get(contestant, output[contestant])}")
    return output, refused


def race(job: Job, work: Path, racing: list[str], rounds: int) -> Runs:
    fields = {1: job.cpus[:1], len(job.cpus): job.cpus}
    runs = Runs()
    for number in range(rounds):
        for cores, where in fields.items():
            for contestant in racing:
                if cores == 1 or is_ours(contestant) or number % OTHERS_ON_ALL == 0:
                    this = replace(job, threads=cores, cpus=where)
                    runs.add(contestant, cores, number, measure(contestant, this, work))
        rates = {c: runs.figures[c, 1][number]["images_per_s"] for c in racing}
        shown = ", ".join(f"{c} {rate:.0f}/s" for c, rate in rates.items())
        say(f"round {number + 1} of {rounds}: {shown}")
    return runs


def chart(runs: Runs, racing: list[str]) -> str:
    panels = []
    for cores in sorted({cores for _, cores in runs.figures}):
        bars = []
        for contestant in racing:
            rate = float(np.median(runs.of(contestant, cores, "images_per_s")))
            first = contestant.startswith("tundish_pack")
            bars.append(Bar(CONTESTANTS[contestant].name, rate, f"{rate:,.0f}", first))
        panels.append((f"{cores} core{'s' if cores > 1 else ''}, images/s", bars))
    return bar_chart(panels, "images per second of each contestant", left=270)


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=5)
    names = [c for c in CONTESTANTS if ":" not in c]
    parser.add_argument("--images", type=int, default=1600, help="least images per run (1600)")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=names,
        default=names,
        metavar="NAME",
        help="contestants: " + ", ".join(names),
    )
    parser.add_argument(
        "--cpu",
        nargs="+",
        choices=CPUS,
        default=[],
        metavar="CPU",
        help="the loader from a pack once more, held to an instruction set: " + ", ".join(CPUS),
    )
    parser.add_argument("--peers", action="store_true", help="install the rivals first")
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    if options.peers:
        peers.install_all(PEERS)
    chosen = with_cpus(options.only, options.cpu)
    work = options.work or ROOT / "build" / "bench" / "load"
    rows = Rows("load", "torchvision", more=peers.versions(PEERS))
    images = prepare(options.data, work, options.images, 0 if options.cached else None)
    rows.set_data(images.about, images.name, images.digest)
    epochs = max(1, -(-options.images // len(images.files)))
    draws = plans(str(images.pack), SEED, epochs)
    np.save(work / "draws.npy", draws)
    batch = min(BATCH, max(1, len(images.files) // 4))
    job = Job(
        str(images.pack),
        str(images.jpeg_pack),
        images.files,
        str(work / "draws.npy"),
        SEED,
        epochs,
        batch,
        warm=2,
        cpus=sorted(os.sched_getaffinity(0)),
    )

    say("comparing pixels with Pillow's")
    output, refused = judge(job, images, draws, work, chosen)
    racing = [c for c in chosen if c not in refused]
    runs = race(job, work, racing, options.rounds)
    sizes = {c: data_bytes(c, images, work) for c in racing}
    print(report(rows, images, runs, output, refused, sizes, chosen, batch))
    rows.write(options.out, chart(runs, racing))


if __name__ == "__main__":
    main()
