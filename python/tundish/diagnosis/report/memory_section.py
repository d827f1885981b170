"""Memory, tables and the timeline in the report."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import Any

from ...report import html_page as html
from ...report.chart import INK, SOFT, line, svg, text
from .section_text import kind_name, place_text, size_text
from .verdict_text import NAMES, ms

LEFT, TOP, BOTTOM, WIDTH, HEIGHT = 76, 24, 30, 760, 250
LEGEND = 85  # the width of a name
COLORS = {
    "parameters": "#475569",
    "buffers": "#64748b",
    "optimizer": "#94a3b8",
    "gradients": "#0e7490",
    "batch": "#7c3aed",
    "activations": "#c2410c",
    "temporary": "#fdba74",
    "other": "#a8a29e",
    "rounding": "#d6d3d1",
}
MOST_FUNCTIONS = 30


def extra_parts(values: dict[str, Any]) -> list[str]:
    """Sections of the page; none without what they show."""
    return [
        *_memory(values.get("memory")),
        *_tables(values.get("tables") or {}),
        *_timeline(values.get("timeline")),
    ]


def memory_chart(curve: dict[str, Any]) -> str:
    """Bytes by kind over a step, stacked; empty where there is nothing to show."""
    parts, kinds = curve["parts"], curve["kinds"]
    if len(parts) < 2 or not kinds:
        return ""
    totals = [sum(values[i] for values in kinds.values()) for i in range(len(parts))]
    most, inner = max(totals) or 1, HEIGHT - TOP - BOTTOM
    step = (WIDTH - LEFT) / (len(parts) - 1)
    body = []
    for share in (0.0, 0.5, 1.0):
        y = TOP + inner * (1 - share)
        body.append(line(LEFT, WIDTH, y, y))
        body.append(text(LEFT - 8, y + 4, size_text(most * share), SOFT, 12, anchor="end"))
    low = [0.0] * len(parts)
    for kind, values in kinds.items():
        high = [below + value for below, value in zip(low, values)]
        points = [_point(i * step, size, most, inner) for i, size in enumerate(high)]
        points += [_point(i * step, low[i], most, inner) for i in reversed(range(len(low)))]
        color = COLORS.get(kind, "#a8a29e")
        shown = escape(kind_name(kind))
        body.append(
            f"<polygon points='{' '.join(points)}' fill='{color}'><title>{shown}</title></polygon>"
        )
        low = high
    number, last = 0, -1e9
    for part, group in groupby(parts):
        x, count = LEFT + number * step, len(list(group))
        if count * step > 40 and x - last > 70:  # names do not overlap
            body.append(text(x, 12, NAMES.get(part, part).split()[0], INK, 12))
            last = x
        number += count
    for number, kind in enumerate(kinds):
        x, color = LEFT + number * LEGEND, COLORS.get(kind, "#a8a29e")
        body.append(f"<rect x='{x}' y='{HEIGHT - 14}' width='10' height='10' fill='{color}'/>")
        body.append(text(x + 14, HEIGHT - 5, kind, INK, 12))
    words = f"memory over a step, by kind; the most is {size_text(max(totals))}"
    return svg(WIDTH, HEIGHT, words, body)


def _point(x: float, size: float, most: float, inner: float) -> str:
    return f"{LEFT + x:.1f},{TOP + inner * (1 - size / most):.1f}"


def _memory(found: dict[str, Any] | None) -> list[str]:
    if not found:
        return []
    peak, predicted = found["peak_bytes"], found["predicted"]
    at = place_text({"inner": "", **found})
    part = NAMES.get(found["part"], found["part"])
    about = f"{size_text(peak)} at the peak, in {part}" + (f" ({at})" if at else "") + "."
    if predicted:
        about += f" Predicted by tundish tune: {size_text(predicted['peak_bytes'])}."
    out = ["<h2>Memory of a step</h2>", f"<p class='soft'>{escape(about)}</p>"]
    chart = memory_chart(found["curve"])
    if chart:
        out.append(html.card(chart, scrolls=True))
    expected = (predicted or {}).get("kinds", {})
    kinds = [
        (kind_name(kind), size_text(size), f"{size / peak:.0%}", _size_or_dash(expected.get(kind)))
        for kind, size in sorted(found["kinds"].items(), key=lambda one: -one[1])
    ]
    out.append(html.grid(["kind", "at the peak", "share", "predicted"], kinds))
    rows = [
        (size_text(one["bytes"]), kind_name(one["kind"]), str(one["count"]), place_text(one))
        for one in found["rows"]
        if one["line"]
    ]
    if rows:
        out += ["<h3>Lines that hold it</h3>"]
        out.append(html.grid(["bytes", "kind", "tensors", "line"], rows))
    return out + _lasting(found["long_lived"])


def _size_or_dash(size: int | None) -> str:
    return size_text(size) if size else ""


def _lasting(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return []
    rows = [
        (
            one["why"],
            size_text(one["bytes"]),
            place_text(one),
            "holds its graph: keep .detach() of it" if one["holds_graph"] else "",
        )
        for one in found
    ]
    out = ["<h3>Tensors that outlive their step</h3>"]
    return [*out, html.grid(["", "bytes", "line", ""], rows)]


def _tables(found: dict[str, Any]) -> list[str]:
    """The host's functions; the parts have a chart of their own."""
    advanced = found.get("advanced")
    if not advanced:
        return []
    rows = [
        (
            one["function"],
            f"{one['calls']:.1f}",
            ms(one["own_s"]),
            ms(one["all_s"]),
            place_text({"inner": "", **one}),
        )
        for one in advanced["rows"][:MOST_FUNCTIONS]
    ]
    about = f"Per step, of {advanced['steps']} steps with cProfile, which are not in the figures."
    out = ["<h2>Functions of the loop's thread</h2>", f"<p class='soft'>{about}</p>"]
    return [*out, html.grid(["function", "calls", "own", "with callees", "line"], rows)]


def _timeline(found: dict[str, Any] | None) -> list[str]:
    if not found:
        return []
    if not found["steps"]:
        return ["<h2>Timeline</h2>", *(f"<p>{escape(note)}</p>" for note in found["notes"])]
    about = f"{found['file']}: {found['steps']} steps, {found['events']:,} events. Open it in ui.perfetto.dev."
    return ["<h2>Timeline</h2>", f"<p>{escape(about)}</p>"]
