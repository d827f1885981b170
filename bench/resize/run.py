"""What does a resize to 224x224 cost on one core, per instruction set, and against Pillow?

resize.cpp times the parts of our resize on an image of noise. Before that, it compares the result with
our reference implementation, which the tests compare with Pillow. Pillow resizes an image of the same
size.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import numpy as np
from PIL import Image

from ..common.rows import ROOT, Rows, arguments, middle, say, table

PROGRAM = ROOT / "build" / "release" / "bench_resize"
PARTS = ("begin", "horizontal", "vertical", "all")


def main() -> None:
    options = arguments(__doc__.splitlines()[0], rounds=3).parse_args()
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    say(f"resizing on core {core}, {options.rounds} rounds")
    done = subprocess.run([PROGRAM, str(options.rounds)], check=True, stdout=subprocess.PIPE)
    result = json.loads(done.stdout)
    rows = Rows("resize", "pillow")
    print(f"one core, microseconds per image\n{rows.heading()}\n")
    print(resize_table(rows, result["resize"], options.rounds))
    print()
    print(store_table(rows, result["store"]))
    rows.write(options.out)


def resize_table(rows: Rows, results: list[dict[str, Any]], rounds: int) -> str:
    lines = []
    for side, filter_name in dict.fromkeys((r["side"], r["filter"]) for r in results):
        what = {"side": side, "filter": filter_name}
        pillow = rows.add("pillow", "all", pillow_us(side, filter_name, rounds), "us", **what)
        lines.append([f"{side} {filter_name}", "pillow", "", "", "", f"{pillow:.1f}", "1.0"])
        for result in (r for r in results if (r["side"], r["filter"]) == (side, filter_name)):
            if not result["right"]:
                rows.note(result["cpu"], "all", "wrong pixels: no time", **what)
                continue
            us = [rows.add(result["cpu"], part, result[part], "us", **what) for part in PARTS]
            gain = f"{pillow / us[-1]:.1f}"
            lines.append(["", result["cpu"], *[f"{value:.1f}" for value in us], gain])
    return table(["crop to 224", "", *PARTS, "x pillow"], lines)


def pillow_us(side: int, filter_name: str, rounds: int) -> list[float]:
    levels = np.random.default_rng(1).integers(0, 256, (side, side, 3), np.uint8)
    image = Image.fromarray(levels)
    how = Image.Resampling[filter_name.upper()]
    figures = []
    for _ in range(rounds):
        best, end = float("inf"), time.perf_counter() + 0.05
        while time.perf_counter() < end:
            begin = time.perf_counter()
            image.resize((224, 224), how)
            best = min(best, time.perf_counter() - begin)
        figures.append(best * 1e6)
    return figures


def store_table(rows: Rows, results: list[dict[str, Any]]) -> str:
    cpus = list(dict.fromkeys(r["cpu"] for r in results))
    lines = []
    for what in dict.fromkeys((r["dtype"], r["layout"], r["mirror"]) for r in results):
        dtype, layout, mirror = what
        line = [f"{dtype} {layout}{' mirrored' if mirror else ''}"]
        for result in (r for r in results if (r["dtype"], r["layout"], r["mirror"]) == what):
            more = {"dtype": dtype, "layout": layout, "mirror": mirror}
            rows.add(result["cpu"], "store", result["store"], "us", **more)
            line.append(f"{middle(result['store'])[0]:.1f}")
        lines.append(line)
    return table(["store 224x224", *cpus], lines)


if __name__ == "__main__":
    main()
