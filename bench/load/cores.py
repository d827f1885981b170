"""How does the loader scale? Loads a pack with one thread on one core, and with n threads on n cores.

Needs only the library, the program build/release/tundish and NumPy. It therefore also runs on a machine
where ./dev cannot build.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..common.images import prepare
from ..common.process import Job
from ..common.rows import ROOT, Rows, arguments, say, table
from .contestants import start
from .report import Runs

BATCH, SEED = 64, 7


def measure(job: Job, work: Path) -> dict[str, float]:
    out = start("tundish_numpy", job, work)
    if "unavailable" in out:
        raise SystemExit(f"bench: {out['unavailable']}")
    return {
        "images_per_s": out["timed_images"] / out["seconds"],
        "cpu_s_per_1000": 1000 * out["cpu_s"] / out["timed_images"],
    }


def main() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    parser = arguments(__doc__.splitlines()[0], rounds=7)
    parser.add_argument("--threads", default=f"1,{len(cpus)}", help="numbers of threads (1,all)")
    parser.add_argument("--images", type=int, default=8000, help="of a run, per thread (8000)")
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    counts = [int(word) for word in options.threads.split(",")]
    if max(counts) > len(cpus) or min(counts) < 1:
        parser.error(f"this process may use {len(cpus)} cores")
    work = options.work or ROOT / "build" / "bench" / "cores"
    rows = Rows("cores", command="python -m bench.load.cores")
    images = prepare(options.data, work, 4 * BATCH, 0 if options.cached else None, codecs=["lanes"])
    rows.set_data(images.about, images.name, images.digest)
    batch = min(BATCH, max(1, len(images.files) // 4))
    job = Job(str(images.pack), "", images.files, "", SEED, 1, batch, warm=2)
    runs = Runs()
    for number in range(options.rounds):
        for threads in counts:
            epochs = max(1, options.images * threads // len(images.files))
            this = replace(job, threads=threads, cpus=cpus[:threads], epochs=epochs)
            runs.add("tundish", threads, number, measure(this, work))
        rates = [runs.figures["tundish", n][number]["images_per_s"] for n in counts]
        say(f"round {number + 1}: " + ", ".join(f"{rate:,.0f}/s" for rate in rates))
    lines = []
    for threads in counts:
        more = {"cores": threads}
        rate = runs.of("tundish", threads, "images_per_s")
        cost = runs.of("tundish", threads, "cpu_s_per_1000")
        scale = runs.ratio(("tundish", threads), ("tundish", counts[0]))
        line = [
            f"{rows.add('tundish', 'images_per_s', rate, 'images/s', **more):,.0f}",
            f"{rows.add('tundish', 'scaling', scale, 'x', **more):.2f}",
            f"{rows.add('tundish', 'cpu_s_per_1000', cost, 's', **more):.3f}",
        ]
        lines.append([str(threads), *line])
    print(f"RandomResizedCrop(224) + flip, uint8 batches of {batch}; {images.about}")
    print(f"{rows.heading()}\n")
    print(table(["threads = cores", "images/s", f"x {counts[0]}", "CPU s / 1,000"], lines))
    rows.write(options.out)


if __name__ == "__main__":
    main()
