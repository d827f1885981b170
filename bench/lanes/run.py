"""What does re-coding JPEGs give? Bytes, crops, stages and coefficients. One thread, CPU time.

lanes.cpp runs the contestants. libjpeg-turbo reads coefficients, decodes whole images, or decodes the
region of the crop, each with our resize. The lanes codec runs on every instruction set. Crops come from
RandomResizedCrop(224), and all crops are compared before any is timed. In addition to the original
data, the same images re-encoded at 4:2:0 are packed and timed (AVX2 and AVX-512).
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tundish.report.points import ChartPoint, point_chart

from ..common.images import Images, prepare
from ..common.rows import CPUS, ROOT, Rows, arguments, middle, say, table
from .sets import QUALITIES, Size, reencode, sizes

PROGRAM = ROOT / "build" / "release" / "bench_lanes"
SEED = 7
TURBO = {"turbo_full": "libjpeg-turbo full", "turbo_region": "libjpeg-turbo region"}
TABLES = {"builtin": "built-in tables", "train": "trained tables"}

# Names of the stages in lanes.cpp, which reports when each stage ends. The time of a stage is its end
# minus the end of the previous stage.
STAGES = {
    "head": "record head, checksums",  # includes the first access to the bytes, which are in memory
    "values": "entropy decoding",
    "samples": "expand, dequantize, IDCT",
    "rgb": "upsampling, color",
    "crop": "resize",
}


@dataclass(frozen=True)
class Set:
    name: str
    images: Images
    sizes: dict[str, Size]  # pack sizes by kind of codec tables
    result: dict[str, Any]  # output of bench_lanes


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=5)
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the sets beyond the last-level cache"
    )
    parser.add_argument(
        "--tables", choices=TABLES, default="builtin", help="of the records that are timed"
    )
    parser.add_argument("--as-it-is", action="store_true", help="leave the re-encoded sets out")
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "lanes"
    least_bytes = 0 if options.cached else None
    rows = Rows("lanes")
    core = str(min(os.sched_getaffinity(0)))

    def measure(name: str, data: str | None, folder: Path, rounds: int, what: str) -> Set:
        images = prepare(data, folder, 1, least_bytes, codecs=["keep"])
        say(f"{name}: {TABLES[options.tables]}, core {core}, {rounds} rounds")
        words = [PROGRAM, images.jpeg_pack, SEED, rounds, options.tables, what]
        done = subprocess.run(
            ["taskset", "-c", core, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True
        )
        return Set(name, images, sizes(images, folder), json.loads(done.stdout))

    first = measure("as it is", options.data, work, options.rounds, "all")
    every = [first]
    for quality in [] if options.as_it_is else QUALITIES:
        folder = reencode(first.images, work / f"files{quality}", quality)
        rounds = (options.rounds + 1) // 2
        every.append(
            measure(f"4:2:0, q{quality}", str(folder), work / f"q{quality}", rounds, "crops")
        )

    texts: list[list[str]] = [[], []]  # lines of the tables that cover all sets
    for it in every:
        name = first.images.name + ("" if it is first else f", re-encoded {it.name}")
        rows.set_data(it.images.about, name, it.images.digest)
        texts[0].append(weights(rows, it))
        texts[1] += crops(rows, it)
    rows.set_data(first.images.about, first.images.name, first.images.digest)
    parts = [
        f"JPEGs and their lanes records, {TABLES[options.tables]}; {first.images.about}",
        rows.heading(),
        table(WEIGHTS, texts[0]),
        samplings(rows, first.result),
        table(CROPS, texts[1])
        + ("\n* some crops differ from those of the whole image" if "*" in str(texts[1]) else ""),
        stages(rows, first.result),
        coefficients(rows, first.result),
    ]
    print("\n\n".join(parts))
    rows.write(options.out, chart(every, options.tables))


WEIGHTS = ["bytes / JPEG", "images", "KB each", "lanes"]
WEIGHTS += ["records, built-in", "records, trained", "pack, built-in", "pack, trained"]


def weights(rows: Rows, it: Set) -> list[str]:
    """Returns sizes relative to the JPEGs with both kinds of tables, and the share of lanes records."""
    built = it.sizes["builtin"]
    line = [it.name, f"{built.images:,}", f"{built.jpeg_bytes / built.images / 1e3:.1f}"]
    parts = [built.lanes / built.images]
    share = rows.add("lanes", "share of lanes records", parts, "share", set=it.name)
    line.append(f"{share:.1%}")
    for metric, unit in (("records", "records / JPEG"), ("pack", "whole pack / JPEG files")):
        for tables, size in it.sizes.items():
            value = rows.add(TABLES[tables], unit, [getattr(size, metric)], "x", set=it.name)
            line.append(f"{value:.4f}")
    return line


def samplings(rows: Rows, result: dict[str, Any]) -> str:
    """Returns sizes relative to the JPEGs by chroma subsampling, and the speed of packing."""
    lines = []
    groups = dict(result["bytes"])
    everything = {k: sum(g[k] for g in groups.values()) for k in next(iter(groups.values()))}
    for name, group in [*sorted(groups.items()), ("all", everything)]:
        record, restore = group["record"] / group["jpeg"], group["restore"] / group["jpeg"]
        both = rows.add(name, "bytes / JPEG", [record + restore], "x")
        lines.append(
            [name, f"{group['images']:,}", f"{record:.4f}", f"{restore:.4f}", f"{both:.4f}"]
        )
    rate = rows.add(
        "packing with proof", "images_per_s", [result["images"] / result["pack_seconds"]], "images/s"
    )  # fmt: skip
    kept = ", ".join(f"{count} {reason}" for reason, count in (result.get("kept") or {}).items())
    head = ["sampling", "images", "record / JPEG", "restore / JPEG", "together"]
    return (
        table(head, lines)
        + f"\npacking with proof: {rate:,.0f} images/s per core; kept as they came: {kept or 'none'}"
    )


CROPS = ["crop 224, ms", "on", "turbo full", "turbo region", "lanes", "x full", "x region"]


def crops(rows: Rows, it: Set) -> list[list[str]]:
    """Returns the time of a crop. Ratios are within a round, so that slow moments affect both times."""
    count, differing = counted(it.result), it.result["differing"]
    lines = []
    for level, spoken in CPUS.items():
        if f"lanes {level}" not in it.result["crops"]:
            continue
        if wrong := differing[f"lanes {level}"]:
            rows.note(f"lanes {level}", "crop", f"wrong pixels in {wrong}: no time", set=it.name)
            lines.append([it.name, spoken, "wrong pixels", "-", "-", "-", "-"])
            continue
        line = [it.name, spoken]
        lanes = it.result["crops"][f"lanes {level}"]
        for name in (*TURBO, "lanes"):
            contestant = f"{name} {level}"
            figures = [s / count * 1e3 for s in it.result["crops"][contestant]]
            wrong = differing[contestant]
            pixels = f"{wrong:,} of {count:,} differ" if wrong else "exact"
            more = {"set": it.name, "pixels": pixels}
            time = ms(rows.add(contestant, "crop", figures, "ms", **more))
            line.append(time + ("*" if wrong else ""))
        for name in TURBO:
            gains = ratios(it.result["crops"][f"{name} {level}"], lanes)
            value = rows.add(f"lanes {level} / {name}", "ratio", gains, "x", set=it.name)
            line.append(f"{value:.2f}")
        lines.append(line)
    return lines


def stages(rows: Rows, result: dict[str, Any]) -> str:
    """Returns the time of each stage of a crop."""
    levels = [level for level in CPUS if f"crop {level}" in result["stages"]]
    count, lines = counted(result), {name: [name] for name in [*STAGES.values(), "all"]}
    for level in levels:
        if wrong := result["differing"][f"parts {level}"]:
            rows.note(f"lanes {level}", "stages", f"wrong pixels in {wrong}: no time")
            for line in lines.values():
                line.append("wrong pixels")
            continue
        before = [0.0] * len(result["stages"][f"crop {level}"])
        for end, name in STAGES.items():
            until = result["stages"][f"{end} {level}"]
            figures = [(u - b) / count * 1e3 for u, b in zip(until, before, strict=True)]
            value = rows.add(f"lanes {level}", f"stage: {name}", figures, "ms")
            lines[name].append(ms(value))
            before = until
        value = rows.add(f"lanes {level}", "stages", [s / count * 1e3 for s in before], "ms")
        lines["all"].append(ms(value))
    return table(["stages of a crop, ms", *(CPUS[level] for level in levels)], list(lines.values()))


def coefficients(rows: Rows, result: dict[str, Any]) -> str:
    """Compares two forms of coefficients: dense blocks, as in libjpeg's arrays, and packed values."""
    count, seconds = counted(result), result["coefficients"]
    named = {"turbo": ("libjpeg-turbo", "blocks")}
    for level, spoken in CPUS.items():
        named[f"lanes {level}"] = (f"lanes {spoken}", "blocks")
        named[f"values {level}"] = (f"lanes {spoken}", "values, as the pixel stage takes them")
    lines = []
    for key in filter(seconds.__contains__, named):
        name, form = named[key]
        figures = [s / count * 1e3 for s in seconds[key]]
        time = rows.add(key, "all coefficients", figures, "ms", form=form)
        gains = ratios(seconds["turbo"], seconds[key])
        gain = rows.add(f"{key} / turbo", "ratio of coefficients", gains, "x", form=form)
        lines.append([name, form, ms(time), f"{gain:.2f}"])
    return table(["all coefficients", "to", "ms", "x turbo"], lines)


def chart(every: list[Set], tables: str) -> str:
    """Draws size against speed. libjpeg-turbo has the size of the JPEGs, and our best resize."""
    panels = []
    for it in every:
        points = []
        levels = [v for v in CPUS if f"lanes {v}" in it.result["crops"] and v != "scalar"]
        for name, spoken in TURBO.items():
            points.append(ChartPoint(spoken, speed(it.result, f"{name} {levels[-1]}"), 1.0))
        for level in levels:
            if it.result["differing"][f"lanes {level}"] == 0:
                rate = speed(it.result, f"lanes {level}")
                points.append(ChartPoint(f"lanes {CPUS[level]}", rate, it.sizes[tables].pack, True))
        size = it.sizes[tables]
        panels.append((f"{it.name}, {size.jpeg_bytes / size.images / 1e3:.3g} KB each", points))
    return point_chart(
        panels,
        "size against speed of each contestant, by set",
        "crops/s on one core: to the right is faster",
        f"bytes of the pack / JPEG files, {TABLES[tables]}: below is smaller",
    )


def speed(result: dict[str, Any], contestant: str) -> float:
    return counted(result) / middle(result["crops"][contestant])[0]


def ms(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.5f}"


def counted(result: dict[str, Any]) -> int:
    """Returns the number of timed images."""
    return sum(group["images"] for group in result["bytes"].values())


def ratios(slow: list[float], fast: list[float]) -> list[float]:
    """Returns the ratio for each round. Slow instruction sets only run in the first round."""
    return [s / f for s, f in zip(slow, fast, strict=False)]


if __name__ == "__main__":
    main()
