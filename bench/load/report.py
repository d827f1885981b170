"""Writes the report of `bench load`: a table, ratios and rows."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..common.images import Images
from ..common.rows import Rows, table
from .contestants import CONTESTANTS, is_ours
from .turbo_full import cpu_of

METRICS = {
    "images_per_s": "images/s",
    "first_batch_s": "s",
    "peak_rss_mb": "MB",
    "rss_beyond_imports_mb": "MB",
    "cpu_s_per_1000": "s",
}


@dataclass
class Runs:
    """Results by contestant, cores and round. Some rounds may be missing."""

    figures: dict[tuple[str, int], dict[int, dict[str, float]]] = field(default_factory=dict)

    def add(self, contestant: str, cores: int, number: int, out: dict[str, float]) -> None:
        self.figures.setdefault((contestant, cores), {})[number] = out

    def of(self, contestant: str, cores: int, metric: str) -> list[float]:
        return [run[metric] for run in self.figures[contestant, cores].values()]

    def ratio(
        self, one: tuple[str, int], other: tuple[str, int], metric: str = "images_per_s"
    ) -> list[float]:
        """Returns the ratio of two contestants in each round, where slow moments affect both."""
        first, second = self.figures[one], self.figures[other]
        return [first[n][metric] / second[n][metric] for n in first if n in second]


def report(
    rows: Rows,
    images: Images,
    runs: Runs,
    output: dict[str, str],
    refused: dict[str, str],
    sizes: dict[str, int],
    chosen: list[str],
    batch: int,
) -> str:
    """Returns the text to print, and fills the rows."""
    racing = [c for c in chosen if c not in refused]
    text = [
        f"RandomResizedCrop(224) + flip, uint8 batches of {batch}; {images.about}",
        rows.heading(),
        "",
    ]
    for contestant in chosen:
        if contestant in refused:
            rows.note(CONTESTANTS[contestant].name, "images_per_s", refused[contestant])
    if racing:
        text.append(figures(rows, runs, output, sizes, racing))
    text += [f"{CONTESTANTS[c].name}: {refused[c]}" for c in chosen if c in refused]
    for ours in ("tundish_pack", "tundish_jpeg"):
        for contestant in racing:
            if contestant.partition(":")[0] == ours:
                rivals = [c for c in racing if c.partition(":")[0] != ours]
                text += ["", *against(rows, runs, contestant, rivals)]
    return "\n".join(text)


def figures(
    rows: Rows, runs: Runs, output: dict[str, str], sizes: dict[str, int], racing: list[str]
) -> str:
    all_cores = max(cores for _, cores in runs.figures)
    head = ["contestant", "pixels", "img/s, 1 core"]
    head += [f"img/s, {all_cores} cores", "x one core"] if all_cores > 1 else []
    head += ["first batch ms", "CPU s / 1,000", "peak RSS MB", "beyond imports", "data MB"]
    lines = []
    for contestant in racing:
        name, value = CONTESTANTS[contestant].name, {}
        more = {"pixels": output[contestant]}
        if is_ours(contestant):
            more["instructions"] = contestant.partition(":")[2] or cpu_of(dict(os.environ))
        for cores in sorted({1, all_cores}):
            for metric, unit in METRICS.items():
                values = runs.of(contestant, cores, metric)
                value[metric, cores] = rows.add(name, metric, values, unit, cores=cores, **more)
        megabytes = rows.add(name, "data_mb", [sizes[contestant] / 1e6], "MB", **more)
        rate = runs.of(contestant, 1, "images_per_s")
        spread = (max(rate) - min(rate)) / 2 / value["images_per_s", 1]
        line = [name, output[contestant], f"{value['images_per_s', 1]:,.0f} ±{spread:.0%}"]
        if all_cores > 1:
            scale = runs.ratio((contestant, all_cores), (contestant, 1))
            line += [
                f"{value['images_per_s', all_cores]:,.0f}",
                f"{rows.add(name, 'scaling', scale, 'x', cores=all_cores):.2f}",
            ]
        line += [
            f"{1000 * value['first_batch_s', 1]:,.0f}",
            f"{value['cpu_s_per_1000', 1]:.2f}",
            f"{value['peak_rss_mb', 1]:,.0f}",
            f"{value['rss_beyond_imports_mb', 1]:,.0f}",
            f"{megabytes:,.0f}",
        ]
        lines.append(line)
    return table(head, lines)


def against(rows: Rows, runs: Runs, ours: str, rivals: list[str]) -> list[str]:
    """Compares one of our contestants with all others on one core."""
    text = []
    for other in rivals:
        pair = (CONTESTANTS[ours].name, CONTESTANTS[other].name)
        wall = runs.ratio((ours, 1), (other, 1))
        cost = runs.ratio((other, 1), (ours, 1), "cpu_s_per_1000")
        each = rows.add(" / ".join(pair), "ratio", wall, "x", cores=1)
        less = rows.add(" / ".join(pair), "ratio_by_cpu_time", cost, "x", cores=1)
        text.append(f"{pair[0]} is {each:.2f}x {pair[1]} per core; {less:.2f}x by CPU time")
    return text
