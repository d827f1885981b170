"""What does re-coding JPEGs give? Bytes by sampling, time to pack, coefficients and crops. One thread, CPU time.

lanes.cpp has the contestants: libjpeg-turbo reading coefficients, decoding whole images and decoding
the region of the crop, each with our resize; and lanes on every instruction set. Crops are those of
RandomResizedCrop(224), and all of them are compared before any is timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.images import prepare
from common.rows import ROOT, Rows, arguments, say, table

PROGRAM = ROOT / "build" / "release" / "bench_lanes"
SEED = 7


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=5)
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    parser.add_argument("--tables", choices=("builtin", "train"), default="builtin")
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "lanes"
    rows = Rows("lanes")
    images = prepare(options.data, work, 1, 0 if options.cached else None)
    rows.set_data(images.about, images.name, images.digest)
    core = str(min(os.sched_getaffinity(0)))
    words = ["taskset", "-c", core, PROGRAM, images.jpeg_pack, str(SEED), str(options.rounds)]
    say(f"{options.tables} tables, core {core}, {options.rounds} rounds")
    done = subprocess.run([*words, options.tables], check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(done.stdout)
    parts = [
        f"JPEGs and their lanes records, {options.tables} tables; {images.about}",
        rows.heading(),
        sizes(rows, result),
        crops(rows, result),
        coefficients(rows, result),
    ]
    print("\n\n".join(parts))
    rows.write(options.out)


def sizes(rows: Rows, result: dict[str, Any]) -> str:
    """Bytes against the JPEGs, by sampling, and the rate of packing."""
    lines = []
    groups = dict(result["bytes"])
    everything = {k: sum(g[k] for g in groups.values()) for k in next(iter(groups.values()))}
    for name, group in [*sorted(groups.items()), ("all", everything)]:
        record, restore = group["record"] / group["jpeg"], group["restore"] / group["jpeg"]
        rows.add(name, "bytes / JPEG", [record + restore], "x")
        lines.append(
            [
                name,
                f"{group['images']:,}",
                f"{record:.4f}",
                f"{restore:.4f}",
                f"{record + restore:.4f}",
            ]
        )
    rate = rows.add(
        "packing with proof",
        "images_per_s",
        [result["images"] / result["pack_seconds"]],
        "images/s",
    )
    kept = ", ".join(f"{count} {reason}" for reason, count in (result.get("kept") or {}).items())
    head = ["sampling", "images", "record / JPEG", "restore / JPEG", "together"]
    return (
        table(head, lines)
        + f"\npacking with proof: {rate:,.0f} images/s per core; kept as they came: {kept or 'none'}"
    )


def crops(rows: Rows, result: dict[str, Any]) -> str:
    """Time of a crop; ratios within a round, so that what slows the machine slows both."""
    count = sum(group["images"] for group in result["bytes"].values())
    lines = []
    for level in ("sse", "avx2", "avx512"):
        if f"lanes {level}" not in result["crops"]:
            continue
        differing = {n: c for n, c in result["differing"].items() if n.endswith(level) and c}
        if differing:
            rows.note(f"lanes {level}", "crop", f"wrong pixels {differing}: no time")
            lines.append([level, "wrong pixels", "-", "-", "-", "-"])
            continue
        seconds = {
            name: result["crops"][f"{name} {level}"]
            for name in ("turbo_full", "turbo_region", "lanes")
        }
        time = {
            name: rows.add(f"{name} {level}", "crop", [s / count * 1e3 for s in values], "ms")
            for name, values in seconds.items()
        }
        gain = {
            name: rows.add(
                f"lanes {level} / {name}",
                "ratio",
                [t / s for t, s in zip(seconds[name], seconds["lanes"], strict=True)],
                "x",
            )
            for name in ("turbo_full", "turbo_region")
        }
        lines.append(
            [
                level,
                f"{time['turbo_full']:.3f}",
                f"{time['turbo_region']:.3f}",
                f"{time['lanes']:.3f}",
                f"{gain['turbo_full']:.2f}",
                f"{gain['turbo_region']:.2f}",
            ]
        )
    head = ["crop 224, ms", "turbo full", "turbo region", "lanes", "x full", "x region"]
    return table(head, lines)


def coefficients(rows: Rows, result: dict[str, Any]) -> str:
    count = sum(group["images"] for group in result["bytes"].values())
    turbo = result["coefficients"]["turbo"]
    lines = []
    for name, seconds in result["coefficients"].items():
        time = rows.add(name, "all coefficients", [s / count * 1e3 for s in seconds], "ms")
        gain = rows.add(
            f"{name} / turbo",
            "ratio of coefficients",
            [t / s for t, s in zip(turbo, seconds, strict=True)],
            "x",
        )
        lines.append([name, f"{time:.3f}", f"{gain:.2f}"])
    return table(["all coefficients", "ms", "x turbo"], lines)


if __name__ == "__main__":
    main()
