"""How fast do augmented batches arrive? RandomResizedCrop(224) + flip, uint8, batches of 64.

Every contestant cuts the same crops out of the same images. Its pixels are compared with Pillow's
before its time counts. Then rounds: each contestant once per round, on one core and on all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.images import Images, prepare
from common.process import Job
from common.rows import CPUS, ROOT, Rows, arguments, say, table
from tundish.demo.chart import Bar, bar_chart
from turbo_full import cpu_of, plans

HERE = Path(__file__).resolve().parent
BATCH, SEED = 64, 7

# File, name in the table, and whether its pixels must equal Pillow's.
CONTESTANTS = {
    "tundish_pack": ("tundish", True),
    "tundish_jpeg": ("tundish, JPEGs kept", True),
    "tundish_folder": ("tundish, loose files", True),
    "turbo_full": ("libjpeg-turbo full + our resize", True),
    "torch_pillow": ("torch DataLoader + Pillow", True),
    "torch_torchvision": ("torch DataLoader + torchvision.io", False),
    "dali": ("DALI CPU", False),
}
# Ours can be held to an instruction set: NAME:CPU is NAME with TUNDISH_CPU=CPU.
CONTESTANTS |= {
    f"{contestant}:{cpu}": (f"{name}, {spoken}", exact)
    for contestant, (name, exact) in CONTESTANTS.items()
    for cpu, spoken in CPUS.items()
    if contestant.startswith("tundish_")
}
CLOSE = 0.5  # mean difference in levels up to which a picture that is not exact is the same picture

METRICS = {
    "images_per_s": "images/s",
    "first_batch_s": "s",
    "peak_rss_mb": "MB",
    "cpu_s_per_1000": "s",
}


def start(contestant: str, job: Job, work: Path) -> dict[str, Any]:
    """Runs a contestant's process; gives what it printed."""
    file = work / "job.json"
    job.write(file)
    name, _, cpu = contestant.partition(":")
    environment = dict(os.environ)
    if cpu:
        environment["TUNDISH_CPU"] = cpu
        if (used := cpu_of(environment)) != cpu:
            return {"unavailable": f"this machine has {CPUS[used]} at best"}
    done = subprocess.run(
        [sys.executable, HERE / f"{name}.py", file],
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode != 0:
        return {
            "unavailable": (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]
        }
    return json.loads(done.stdout.strip().splitlines()[-1])


def with_cpus(chosen: list[str], cpus: list[str]) -> list[str]:
    """Behind each contestant of ours the same one for every instruction set."""
    out = []
    for contestant in chosen:
        out.append(contestant)
        out += [name for cpu in cpus if (name := f"{contestant}:{cpu}") in CONTESTANTS]
    return out


def measure(contestant: str, job: Job, work: Path) -> dict[str, float]:
    out = start(contestant, job, work)
    if "unavailable" in out:
        raise SystemExit(f"bench: {contestant} failed while it was timed: {out['unavailable']}")
    return {
        "images_per_s": out["timed_images"] / out["seconds"],
        "first_batch_s": out["first_batch_s"],
        "peak_rss_mb": out["peak_rss_mb"],
        "cpu_s_per_1000": 1000 * out["cpu_s"] / out["images"],
    }


def reference(images: Images, draws: np.ndarray, draw: int) -> np.ndarray:
    """What Pillow makes of one draw: crop, then resize, then flip."""
    x, y, width, height, mirrored = draws[draw].tolist()
    with Image.open(images.files[draw % len(images.files)]) as file:
        crop = file.convert("RGB").crop((x, y, x + width, y + height))
    crop = crop.resize((224, 224), Image.Resampling.BILINEAR)
    return np.asarray(crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else crop)


def compare(kept: Path, images: Images, draws: np.ndarray) -> tuple[float, int]:
    """Mean and largest difference to the reference, in levels."""
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
    """What is said of each contestant's pixels, and why some get no time."""
    output, refused = {}, {}
    for contestant in chosen:
        kept = work / "kept.npz"
        answer = start(contestant, Job(**{**job.__dict__, "keep": str(kept)}), work)
        if "unavailable" in answer:
            refused[contestant] = f"not available: {answer['unavailable']}"
            continue
        mean, largest = compare(kept, images, draws)
        kept.unlink()
        output[contestant] = "exact" if largest == 0 else f"MAD {mean:.3f}, max {largest}"
        if largest > 0 and (CONTESTANTS[contestant][1] or mean > CLOSE):
            refused[contestant] = f"wrong pixels ({output[contestant]}): no time"
        say(f"  {CONTESTANTS[contestant][0]}: {refused.get(contestant, output[contestant])}")
    return output, refused


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=7)
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
        help="ours once more, held to an instruction set: " + ", ".join(CPUS),
    )
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    chosen = with_cpus(options.only, options.cpu)
    work = options.work or ROOT / "build" / "bench" / "load"
    rows = Rows("load", "torchvision", "nvidia-dali-cuda130")
    images = prepare(options.data, work, options.images, 0 if options.cached else None)
    rows.set_data(images.about, images.name, images.digest)
    cpus = sorted(os.sched_getaffinity(0))
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
        cpus=cpus,
    )

    say("comparing pixels with Pillow's")
    output, refused = judge(job, images, draws, work, chosen)
    racing = [c for c in chosen if c not in refused]
    fields = {1: cpus[:1], len(cpus): cpus}
    runs: dict[tuple[str, int], list[dict[str, float]]] = {}
    for number in range(options.rounds):
        for cores, where in fields.items():
            for contestant in racing:
                this = Job(**{**job.__dict__, "threads": cores, "cpus": where})
                runs.setdefault((contestant, cores), []).append(measure(contestant, this, work))
        say(
            f"round {number + 1} of {options.rounds}: "
            + ", ".join(f"{c} {runs[c, 1][-1]['images_per_s']:.0f}/s" for c in racing)
        )
    print(report(rows, images, runs, output, refused, chosen, batch))
    bars = [
        (f"{cores} core{'s' if cores > 1 else ''}, images/s", [
            Bar(CONTESTANTS[c][0], rate, f"{rate:,.0f}", c.startswith("tundish_pack"))
            for c in racing for rate in [float(np.median([r["images_per_s"] for r in runs[c, cores]]))]])
        for cores in fields]  # fmt: skip
    rows.write(options.out, bar_chart(bars, "images per second of each contestant", left=270))


def report(
    rows: Rows,
    images: Images,
    runs: dict,
    output: dict,
    refused: dict,
    chosen: list[str],
    batch: int,
) -> str:
    """The table; fills the rows on the way."""
    all_cores = max(cores for _, cores in runs) if runs else 1
    head = ["contestant", "pixels", "img/s, 1 core"]
    head += [f"img/s, {all_cores} cores", "x one core"] if all_cores > 1 else []
    head += ["first batch ms", "peak RSS MB", "CPU s / 1,000"]
    lines = []
    for contestant in chosen:
        name = CONTESTANTS[contestant][0]
        if contestant in refused:
            rows.note(name, "images_per_s", refused[contestant])
            continue
        value = {}
        more = {"pixels": output[contestant]}
        if contestant.startswith("tundish_"):
            more["instructions"] = contestant.partition(":")[2] or cpu_of(dict(os.environ))
        for cores in sorted({1, all_cores}):
            for metric, unit in METRICS.items():
                figures = [run[metric] for run in runs[contestant, cores]]
                value[metric, cores] = rows.add(name, metric, figures, unit, cores=cores, **more)
        rate = [run["images_per_s"] for run in runs[contestant, 1]]
        spread = (max(rate) - min(rate)) / 2 / value["images_per_s", 1]
        line = [name, output[contestant], f"{value['images_per_s', 1]:,.0f} ±{spread:.0%}"]
        if all_cores > 1:
            scale = ratio(runs, (contestant, all_cores), (contestant, 1))
            line += [
                f"{value['images_per_s', all_cores]:,.0f}",
                f"{rows.add(name, 'scaling', scale, 'x', cores=all_cores):.2f}",
            ]
        line += [
            f"{1000 * value['first_batch_s', 1]:.0f}",
            f"{value['peak_rss_mb', 1]:.0f}",
            f"{value['cpu_s_per_1000', 1]:.2f}",
        ]
        lines.append(line)
    text = [
        f"RandomResizedCrop(224) + flip, uint8 batches of {batch}; {images.about}",
        rows.heading(),
        "",
        table(head, lines),
    ]
    text += [f"{CONTESTANTS[c][0]}: {refused[c]}" for c in chosen if c in refused]
    racing = [c for c in chosen if c not in refused]
    for ours in racing:
        if not ours.startswith("tundish_pack"):
            continue
        text.append("")
        for other in racing:
            if other.startswith("tundish_pack"):
                continue
            pair = (CONTESTANTS[ours][0], CONTESTANTS[other][0])
            wall = ratio(runs, (ours, 1), (other, 1))
            cost = ratio(runs, (other, 1), (ours, 1), "cpu_s_per_1000")
            each = rows.add(" / ".join(pair), "ratio", wall, "x", cores=1)
            less = rows.add(" / ".join(pair), "ratio_by_cpu_time", cost, "x", cores=1)
            text.append(f"{pair[0]} is {each:.2f}x {pair[1]} per core; {less:.2f}x by CPU time")
    return "\n".join(text)


def ratio(
    runs: dict, one: tuple[str, int], other: tuple[str, int], metric: str = "images_per_s"
) -> list[float]:
    """Of two contestants, round by round: what slows the machine slows both."""
    return [a[metric] / b[metric] for a, b in zip(runs[one], runs[other], strict=True)]


if __name__ == "__main__":
    main()
