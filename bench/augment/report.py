"""Writes the report of `bench augment`: a table, geometric means, cases that we lose, and rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tundish.report.chart import Bar, bar_chart

from ..common.rows import Rows, middle, table
from .contestants import CONTESTANTS, REFERENCE
from .operations import Operation

# Groups of operations for each geometric mean.
MEANS = {"pixel and affine operations": ("pixel", "affine"), "all": ("pixel", "affine", "other")}

PARTS = {
    "copy": "{:.1f} us of each time are the copy of the image",
    "pipeline": "a pipeline without an operation takes {:.1f} us of each image",
}


@dataclass
class Result:
    """The results of one contestant for one operation."""

    pixels: str
    wrong: bool = False
    us: list[float] = field(default_factory=list)  # microseconds per image, one value per round


Results = dict[str, dict[str, Result]]  # by operation and contestant


def report(
    rows: Rows,
    operations: Sequence[Operation],
    results: Results,
    parts: dict[str, list[float]],
    who: list[str],
    refused: dict[str, str],
) -> str:
    """Returns the text to print, and fills the rows."""
    text = ["one operation on one 224x224 image, microseconds of CPU time", rows.heading(), ""]
    text.append(times(rows, operations, results, who))
    part_of = {one.name: one.part for one in CONTESTANTS}
    for name, values in parts.items():
        us = rows.add(name, part_of[name], values, "us")
        text.append(f"{name}: {PARTS[part_of[name]].format(us)}")
    for name, reason in refused.items():
        rows.note(name, "us", reason)
        text.append(f"{name}: {reason}")
    text += ["", "pixels, against torchvision on PIL images", pixels(operations, results, who)]
    text += ["", *means(rows, operations, results, who)]
    return "\n".join([*text, "", *lost(operations, results, parts, who)])


def ours_of(who: Sequence[str]) -> list[str]:
    return [name for name in who if name.startswith("tundish")]


def ratios(results: Results, operation: Operation, ours: str, other: str) -> list[float]:
    """Returns how many times faster ours is, per round. Empty if one of the two was not timed."""
    pair = [results[operation.name].get(name) for name in (other, ours)]
    if any(one is None or not one.us for one in pair):
        return []
    first, second = (one.us for one in pair if one)
    return [a / b for a, b in zip(first, second, strict=True)]


def times(rows: Rows, operations: Sequence[Operation], results: Results, who: Sequence[str]) -> str:
    ours = ours_of(who)
    others = [name for name in who if name not in ours]
    lines = []
    for operation in operations:
        line = [operation.name]
        for name in who:
            line.append(time(rows, operation, results[operation.name].get(name), name))
        for name in ours:
            for other in others:
                values = ratios(results, operation, name, other)
                line.append("-")
                if values:
                    ratio = rows.add(
                        f"{name} / {other}", "ratio", values, "x", operation=operation.name
                    )
                    line[-1] = f"{ratio:.1f}"
        lines.append(line)
    head = ["operation", *who]
    for name in ours:
        head += [f"{name.partition(', ')[2]} x {other}" for other in others]
    return table(head, lines)


def time(rows: Rows, operation: Operation, result: Result | None, name: str) -> str:
    if result is None:
        reason = f"{name} has no such operation"
        rows.note(name, "us", reason, operation=operation.name)
        return "-"
    if result.wrong:
        reason = f"wrong pixels ({result.pixels}): no time"
        rows.note(name, "us", reason, operation=operation.name)
        return "wrong"
    more = {"operation": operation.name, "group": operation.group, "pixels": result.pixels}
    return f"{rows.add(name, 'us', result.us, 'us', **more):.1f}"


def pixels(operations: Sequence[Operation], results: Results, who: Sequence[str]) -> str:
    shown = [name for name in who if name != REFERENCE]
    lines = []
    for operation in operations:
        found = [results[operation.name].get(name) for name in shown]
        lines.append([operation.name, *[one.pixels if one else "-" for one in found]])
    return table(["operation", *shown], lines)


def means(
    rows: Rows, operations: Sequence[Operation], results: Results, who: Sequence[str]
) -> list[str]:
    """Returns the geometric means of the ratios per round, over operations that both contestants have."""
    text = []
    for ours in ours_of(who):
        for other in (name for name in who if not name.startswith("tundish")):
            for about, groups in MEANS.items():
                chosen = [one for one in operations if one.group in groups]
                found = [ratios(results, one, ours, other) for one in chosen]
                found = [values for values in found if values]
                if not found:
                    continue
                values = [math.exp(sum(map(math.log, one)) / len(one)) for one in zip(*found)]
                mean = rows.add(
                    f"{ours} / {other}", "geometric mean", values, "x", over=about, count=len(found)
                )
                text.append(f"{ours} is {mean:.1f}x {other}: {about}, {len(found)} of them")
    return text


def lost(
    operations: Sequence[Operation],
    results: Results,
    parts: dict[str, list[float]],
    who: Sequence[str],
) -> list[str]:
    """Lists operations for which another contestant is faster, with and without the image copy."""
    text = []
    for ours in ours_of(who):
        for other in (name for name in who if not name.startswith("tundish")):
            for operation in operations:
                values = ratios(results, operation, ours, other)
                if values and (ratio := middle(values)[0]) < 1:
                    line = f"{ours} loses to {other}: {operation.name}, {ratio:.2f}x"
                    text.append(line + without_copy(results[operation.name], parts, ours, other))
    return text or ["nothing is slower than a rival"]


def without_copy(
    results: dict[str, Result], parts: dict[str, list[float]], ours: str, other: str
) -> str:
    """Returns a clause such as "; 2.4x without the copy", or an empty string.

    tundish works in place, so the benchmark has to copy the image before each call.
    """
    rounds = zip(results[other].us, results[ours].us, parts.get(ours, []), strict=False)
    values = [theirs / (us - copy) for theirs, us, copy in rounds if us > copy]
    if not values:
        return ""
    return f"; {middle(values)[0]:.1f}x without the copy, which a pipeline does not make"


def chart(operations: Sequence[Operation], results: Results, who: Sequence[str]) -> str:
    panels = []
    for ours in ours_of(who):
        bars = []
        for operation in operations:
            values = ratios(results, operation, ours, REFERENCE)
            if values:
                ratio = middle(values)[0]
                bars.append(Bar(operation.name, ratio, f"{ratio:.1f}", operation.group != "other"))
        panels.append((f"{ours}: times faster than torchvision on PIL images", bars))
    return bar_chart(panels, "speed of single operations against torchvision on PIL images")
