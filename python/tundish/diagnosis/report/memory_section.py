"""Writes the sections of the HTML report on memory, tables and the timeline."""

from __future__ import annotations

from html import escape
from itertools import groupby

from ...report import html_page as html
from ...report.chart import INK, SOFT, line, svg, text
from ..doctor_json import CurveJson, LongLivedJson, MemoryJson, ReportJson, TablesJson, TimelineJson
from .section_text import kind_name, location_text, size_text
from .verdict_text import NAMES, ms

LEFT, TOP, BOTTOM, WIDTH, HEIGHT = 76, 24, 30, 760, 250
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


def extra_parts(values: ReportJson) -> list[str]:
    """Returns the sections that have data."""
    return [
        *_memory(values.get("memory")),
        *_tables(values.get("tables")),
        *_timeline(values.get("timeline")),
    ]


def memory_chart(curve: CurveJson) -> str:
    """Draws a stacked chart of the bytes of each kind over a step. Returns "" without data."""
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
        if count * step > 40 and x - last > 70:  # so that names do not overlap
            body.append(text(x, 12, NAMES.get(part, part).split()[0], INK, 12))
            last = x
        number += count
    x = float(LEFT)
    for kind in kinds:
        color = COLORS.get(kind, "#a8a29e")
        body.append(f"<rect x='{x}' y='{HEIGHT - 14}' width='10' height='10' fill='{color}'/>")
        body.append(text(x + 14, HEIGHT - 5, kind, INK, 12))
        x += 26 + 7 * len(kind)
    label = f"memory over a step, by kind; the peak is {size_text(max(totals))}"
    return svg(WIDTH, HEIGHT, label, body)


def _point(x: float, size: float, most: float, inner: float) -> str:
    return f"{LEFT + x:.1f},{TOP + inner * (1 - size / most):.1f}"


def _memory(found: MemoryJson | None) -> list[str]:
    if not found:
        return []
    peak, predicted = found["peak_bytes"], found["predicted"]
    at = location_text(found["file"], found["line"])
    part = NAMES.get(found["part"], found["part"])
    about = f"{size_text(peak)} at the peak, in {part}" + (f" ({at})" if at else "") + "."
    if predicted:
        about += f" Predicted by tundish tune: {size_text(predicted['peak_bytes'])}."
    out = ["<h2>Memory of a step</h2>", f"<p class='soft'>{escape(about)}</p>"]
    chart = memory_chart(found["curve"])
    if chart:
        out.append(html.card(chart, scrolls=True))
    expected = predicted["kinds"] if predicted else {}
    kinds = [
        (kind_name(kind), size_text(size), f"{size / peak:.0%}", _size_or_dash(expected.get(kind)))
        for kind, size in sorted(found["kinds"].items(), key=lambda item: -item[1])
    ]
    out.append(html.grid(["kind", "at the peak", "share", "predicted"], kinds))
    rows = [
        (
            size_text(row["bytes"]),
            kind_name(row["kind"]),
            str(row["count"]),
            location_text(row["file"], row["line"], row["inner"]),
        )
        for row in found["rows"]
        if row["line"]
    ]
    if rows:
        out += ["<h3>Lines that hold the memory</h3>"]
        out.append(html.grid(["bytes", "kind", "tensors", "line"], rows))
    return out + _long_lived(found["long_lived"])


def _size_or_dash(size: int | None) -> str:
    return size_text(size) if size else ""


def _long_lived(found: list[LongLivedJson]) -> list[str]:
    if not found:
        return []
    rows = [
        (
            tensor["reason"],
            size_text(tensor["bytes"]),
            location_text(tensor["file"], tensor["line"]),
            "holds its autograd graph: keep x.detach()" if tensor["holds_graph"] else "",
        )
        for tensor in found
    ]
    out = ["<h3>Tensors that outlive their step</h3>"]
    return [*out, html.grid(["", "bytes", "line", ""], rows)]


def _tables(found: TablesJson | None) -> list[str]:
    """Returns the table of Python functions. The parts of the step are shown in another chart."""
    advanced = found["advanced"] if found else None
    if not advanced:
        return []
    rows = [
        (
            row["function"],
            f"{row['calls']:.1f}",
            ms(row["own_s"]),
            ms(row["all_s"]),
            location_text(row["file"], row["line"]),
        )
        for row in advanced["rows"][:MOST_FUNCTIONS]
    ]
    about = f"Per step, from {advanced['steps']} separate steps with cProfile."
    out = ["<h2>Functions of the loop's thread</h2>", f"<p class='soft'>{about}</p>"]
    return [*out, html.grid(["function", "calls", "own", "with callees", "line"], rows)]


def _timeline(found: TimelineJson | None) -> list[str]:
    if not found:
        return []
    if not found["steps"]:
        return ["<h2>Timeline</h2>", *(f"<p>{escape(note)}</p>" for note in found["notes"])]
    about = f"{found['file']}: {found['steps']} steps, {found['events']:,} events. Open it in ui.perfetto.dev."
    return ["<h2>Timeline</h2>", f"<p>{escape(about)}</p>"]
