"""Is this commit slower than another one? Both take turns, and are compared within each round.

    ./dev bench before --before CHECKOUT [--data photos/] [--out FILE]      on the CPU
    python -m bench.before.run --before FOLDER --pack FILE.tnd --parts gpu_decode gpu_feed

CHECKOUT is another checkout after ./dev build. On a machine with a GPU, FOLDER contains bin/, bench/
and python/ of another bundle. The results are speeds of this commit relative to the other commit, with
95 % intervals.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tundish.report.machine import commit

from ..common.images import prepare
from ..common.result_files import read_rows
from ..common.rounds import interval
from ..common.rows import ROOT, Rows, arguments, say, table

Speeds = dict[str, float]
CORE = str(min(os.sched_getaffinity(0)))


def printed(root: Path, *words: str | Path, pin: bool = False) -> str:
    """Runs a command with the package of that checkout and returns its output."""
    package = f"{root / 'python'}{os.pathsep}{root}"
    prefix = ["taskset", "-c", CORE] if pin else []
    done = subprocess.run(
        [*prefix, *map(str, words)],
        env=os.environ | {"PYTHONPATH": package},
        cwd=root,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"bench: {words[0]} of {root} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def program(root: Path, name: str) -> Path:
    folder = root / "bin" if (root / "bin").is_dir() else root / "build/release"
    return folder / name


def load(root: Path, pack: Path, milliseconds: int = 1500, images: int = 6400) -> Speeds:
    """Returns the images per second on one thread, for the program and for the Python loader.

    The loader is measured with and without Normalize.
    """
    tundish = program(root, "tundish")
    length = ["--seconds", str(milliseconds / 1000)]
    if "--milliseconds" in printed(root, tundish, "bench", "--help"):  # before 0.2.0
        length = ["--milliseconds", str(milliseconds)]
    words = ["--threads", "1", "--runs", "1", *length, "--json"]
    rows = json.loads(printed(root, tundish, "bench", pack, *words, pin=True))
    child = Path(__file__).with_name("one_loader.py")
    loader = [sys.executable, child, pack, str(images)]
    return {
        "tundish bench, one thread": rows["rows"][0]["images_per_second"],
        "Loader, one thread": float(printed(root, *loader, pin=True)),
        "Loader with Normalize, one thread": float(printed(root, *loader, "normalize", pin=True)),
    }


def lanes(root: Path, pack: Path) -> Speeds:
    """Returns crops per second of CPU time on each instruction set, and JPEGs re-coded per second."""
    words = [pack.with_name("jpeg.tnd"), "7", "1", "builtin", "crops"]
    result = json.loads(printed(root, program(root, "bench_lanes"), *words, pin=True))
    out = {
        f"{name}, crops": result["images"] / values[0]
        for name, values in result["crops"].items()
        if name.startswith("lanes")
    }
    return out | {"re-coding": result["images"] / result["pack_seconds"]}


def optim(root: Path, pack: Path) -> Speeds:
    """Returns optimizer steps per second on one thread."""
    child = Path(__file__).with_name("one_optimizer.py")
    speeds: Speeds = json.loads(printed(root, sys.executable, child, "1", pin=True))
    return speeds


def packing(root: Path, pack: Path) -> Speeds:
    """Returns images per second of `tundish pack` on one thread, including the start of the program."""
    images = pack.with_name("images") / "copy0000"
    with tempfile.TemporaryDirectory(dir=pack.parent) as folder:
        target = Path(folder, "new.tnd")
        begin = time.perf_counter()
        printed(root, program(root, "tundish"), "pack", images, "-o", target, "-j", "1", pin=True)
        seconds = time.perf_counter() - begin
    return {"tundish pack, one thread": len(list(images.iterdir())) / seconds}


def gpu_decode(root: Path, pack: Path) -> Speeds:
    """Returns images per second for decoding on a GPU, and the speed of each part of the host's work."""
    out = {}
    text = printed(root, program(root, "bench_gpu_decode"), pack, "--batch", "512", "--rounds", "1")
    for line in text.splitlines():
        figure = json.loads(line)
        middle = interval(figure["values"]).median
        if figure["unit"] in ("images/s", "GB/s"):
            out[figure["metric"]] = middle
        elif figure["unit"] == "us per image":
            out[figure["metric"]] = 1 / middle
    return out


def gpu_feed(root: Path, pack: Path) -> Speeds:
    """Returns steps per second, relative to training on a batch that is already on the GPU."""
    module = ["-m", "bench.gpu_feed.run"]
    if not (root / "bench/__init__.py").is_file():  # before the benchmarks were a package
        module = ["bench/gpu_feed/run.py"]
    words = ["--model", "resnet18", "--only", "tundish", "resident", "--without-counts"]
    words += ["--rounds", "4", "--steps", "30", "--seconds-budget", "75"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "rows.json")
        printed(root, sys.executable, *module, "--pack", pack, *words, "--out", out)
        return {
            f"{row['contestant']}, step": 1 / row["value"]
            for row in read_rows(out)
            if row["metric"] == "step over the resident batch's" and row.get("value")
        }


PARTS: dict[str, Callable[[Path, Path], Speeds]] = {
    "load": load,
    "lanes": lanes,
    "optim": optim,
    "pack": packing,
    "gpu_decode": gpu_decode,
    "gpu_feed": gpu_feed,
}


CPU_PARTS = ("load", "lanes", "optim", "pack")


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=12)
    parser.add_argument("--before", type=Path, required=True, help="the other, built checkout")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(CPU_PARTS))
    parser.add_argument("--pack", type=Path, help="instead of data: a pack, for the GPU's parts")
    parser.add_argument(
        "--milliseconds", type=int, default=1500, help="of `tundish bench`, for load (1500)"
    )
    parser.add_argument("--images", type=int, default=6400, help="of a Loader, for load (6400)")
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    rows = Rows("before")
    pack = options.pack
    if pack is None:
        work = options.work or ROOT / "build/bench/before"
        images = prepare(options.data, work, 256, 0 if options.cached else None, ["keep", "lanes"])
        rows.set_data(images.about, images.name, images.digest)
        pack = images.pack
        pack.with_name("jpeg.tnd").unlink(missing_ok=True)
        pack.with_name("jpeg.tnd").symlink_to(images.jpeg_pack)
    sides = [ROOT, options.before.resolve()]
    sized = functools.partial(load, milliseconds=options.milliseconds, images=options.images)
    parts = PARTS | {"load": sized}
    lines = []
    for part in options.parts:
        ratios: dict[str, list[float]] = {}
        for number in range(options.rounds):
            turn = sides if number % 2 == 0 else sides[::-1]
            speeds = {side: parts[part](side, pack.resolve()) for side in turn}
            here, there = (speeds[side] for side in sides)
            for metric in here.keys() & there.keys():
                ratios.setdefault(metric, []).append(here[metric] / there[metric])
            say(f"{part}: round {number + 1} of {options.rounds}")
        for metric, values in sorted(ratios.items()):
            sure = interval(values)
            more = {"low": round(sure.low, 4), "high": round(sure.high, 4)}
            rows.add(metric, "speed", values, "x", before=commit(options.before), part=part, **more)
            shown = [f"{sure.median:.3f}", f"{sure.low:.3f} to {sure.high:.3f}", str(len(values))]
            lines.append([part, metric, *shown])
        rows.write(options.out, quiet=True)
    print(table(["part", "figure", "speed", "95 % interval", "rounds"], lines))
    print(rows.heading())
    if options.out:
        say(f"rows: {options.out}")


if __name__ == "__main__":
    main()
