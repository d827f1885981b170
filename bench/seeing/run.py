"""What does looking cost? The same loader bare, asked for its figures at every batch, and with a trace.

The counters behind stats() are always on: three looks at the clock for a sample, and two more for every
strip of one sample in 16.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tundish
from common.images import prepare
from common.rows import ROOT, Rows, arguments, middle, say, table

CONTESTANTS = ("bare", "stats() at every batch", "trace")


def seconds(contestant: str, pack: Path, trace: Path, threads: int, images: int) -> float:
    """For `images` images after the first batch; the trace is written afterwards, untimed."""
    loader = tundish.Loader(
        pack,
        64,
        shuffle=True,
        seed=7,
        threads=threads,
        backend="numpy",
        uneven="drop",
        transforms=[tundish.RandomResizedCrop(224), tundish.RandomHorizontalFlip()],
        trace=trace if contestant == "trace" else None,
    )
    done, begin = -1, 0.0
    while done < images:
        for batch in loader:
            if done < 0:
                done, begin = 0, time.perf_counter()
                continue
            done += len(batch[1])
            if contestant == CONTESTANTS[1]:
                loader.stats(reset=True)
            if done >= images:
                break
    taken = (time.perf_counter() - begin) / done
    loader.close()
    return taken


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--images", type=int, default=6400, help="of a run (6400)")
    parser.add_argument("--threads", type=int, default=1, help="of the loader (1)")
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "seeing"
    rows = Rows("seeing", "numpy")
    images = prepare(options.data, work, least_images=256)
    rows.set_data(images.about, images.name, images.digest)
    runs: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for number in range(options.rounds + 1):  # the first does not count
        turn = number % len(CONTESTANTS)
        for name in CONTESTANTS[turn:] + CONTESTANTS[:turn]:
            taken = seconds(
                name, images.pack, work / "trace.json.gz", options.threads, options.images
            )
            if number > 0:
                runs[name].append(taken)
    (work / "trace.json.gz").unlink()
    say(f"{options.rounds} interleaved rounds after one that does not count")
    lines = []
    for name, taken in runs.items():
        rows.add(name, "time", taken, "s", threads=options.threads)
        more = [t / bare - 1 for t, bare in zip(taken, runs["bare"], strict=True)]
        if name != "bare":
            rows.add(name, "overhead", [1 + m for m in more], "x", threads=options.threads)
        cost = "" if name == "bare" else f"{100 * (middle(1 + m for m in more)[0] - 1):+.2f} %"
        lines.append([name, f"{1e6 * middle(taken)[0]:.2f}", cost])
    print(f"page cache warm; {images.about}\n{rows.heading()}\n")
    print(table(["what", "us per image", "more"], lines))
    rows.write(options.out)


if __name__ == "__main__":
    main()
