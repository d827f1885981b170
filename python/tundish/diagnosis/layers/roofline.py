"""Draws the roofline chart as SVG: each layer's FLOPs per second over its FLOPs per byte."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from ...report.chart import INK, OTHERS, OURS, SOFT, line, svg, text
from ..doctor_json import LayerJson, LayersJson
from .layer_text import big, reached_text

MOST_POINTS = 80
NAMED = 5
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 380, 64, 20, 44
LEAST_INTENSITY = 1e-2


def roofline_chart(layers: LayersJson) -> str:
    """Draws the "layers" object of the JSON. Returns "" if no layer has both FLOPs and a roof."""
    rows = [row for row in layers["rows"] if row["flops"] and row["of_roof"]][:MOST_POINTS]
    rates, copied = layers["roof"]["flops_per_s"], layers["roof"]["bytes_per_s"]
    used = {row["precision"] for row in rows}
    rates = {name: rate for name, rate in rates.items() if name in used}
    if not rows or not rates or not copied:
        return ""
    points = [(max(LEAST_INTENSITY, row["intensity"]), _rate(row), row) for row in rows]
    across = _decades([x for x, _, _ in points] + [max(rates.values()) / copied])
    down = _decades([y for _, y, _ in points] + list(rates.values()))

    def at_x(value: float) -> float:
        share = (math.log10(value) - across[0]) / (across[1] - across[0])
        return LEFT + (WIDTH - LEFT - 12) * share

    def at_y(value: float) -> float:
        share = (math.log10(value) - down[0]) / (down[1] - down[0])
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    body = _axes(across, down, at_x, at_y)
    for name, rate in rates.items():
        body += _roof(name, rate, copied, (across, down), at_x, at_y)
    most = max(row["share"] for row in rows)
    named = {id(row) for row in sorted(rows, key=lambda row: -row["share"])[:NAMED]}
    for x, y, row in reversed(points):
        body.append(_point(at_x(x), at_y(y), row, most, id(row) in named))
    placed: list[tuple[float, float]] = []
    for x, y, row in points:
        if id(row) in named:
            body.append(_name(at_x(x), at_y(y), row["name"], placed))
    body.append(text(WIDTH - 12, HEIGHT - 6, "FLOPs per byte", SOFT, 12, anchor="end"))
    body.append(text(0, 8, "FLOP/s", SOFT, 12))
    label = f"{len(rows)} layers: achieved FLOPs per second over FLOPs per byte; the slowest is {rows[0]['name']}"
    return svg(WIDTH, HEIGHT, label, body)


def _rate(row: LayerJson) -> float:
    return (row["flops"] or 0) / (row["forward_s"] + row["backward_s"])


def _decades(values: list[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _axes(across: Any, down: Any, at_x: Any, at_y: Any) -> list[str]:
    body = []
    for power in range(across[0], across[1] + 1):
        x = at_x(10.0**power)
        body.append(line(x, x, TOP, HEIGHT - BOTTOM))
        body.append(text(x, HEIGHT - BOTTOM + 18, f"{10.0**power:g}", SOFT, 12, anchor="middle"))
    for power in range(down[0], down[1] + 1):
        y = at_y(10.0**power)
        body.append(line(LEFT, WIDTH - 12, y, y))
        body.append(text(LEFT - 8, y + 4, big(10.0**power), SOFT, 12, anchor="end"))
    return body


def _roof(name: str, rate: float, copied: float, ends: Any, at_x: Any, at_y: Any) -> list[str]:
    """Draws a roof: a line that rises with the memory bandwidth, then stays flat at the peak rate."""
    (x_low, x_high), (y_low, _) = ends
    first = max(10.0**x_low, 10.0**y_low / copied)
    corners = [(first, first * copied), (rate / copied, rate), (10.0**x_high, rate)]
    path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in corners if x >= first)
    label = f"{name}: {big(rate)}FLOP/s"
    return [
        f"<polyline points='{path}' fill='none' stroke='{OTHERS}' stroke-width='2'/>",
        text(WIDTH - 12, at_y(rate) - 6, label, SOFT, 12, anchor="end"),
    ]


def _point(x: float, y: float, row: LayerJson, most: float, ours: bool) -> str:
    radius = 3 + 7 * math.sqrt(row["share"] / most) if most else 3
    title = f"{row['name']} ({row['type']}), {row['share']:.0%} of the time, {reached_text(row['of_roof'])} of its roof"
    return (
        f"<g><title>{escape(title)}</title><circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' "
        f"fill='{OURS if ours else OTHERS}' fill-opacity='0.75'/></g>"
    )


def _name(x: float, y: float, name: str, placed: list[tuple[float, float]]) -> str:
    """Draws a name on the side of its point that has room, without overlapping other names."""
    end = x > WIDTH * 0.6
    ty = y + 4
    while any(abs(ty - other) < 14 and abs(x - at) < 220 for at, other in placed):
        ty += 14
    placed.append((x, ty))
    shown = name if len(name) <= 28 else "..." + name[-25:]
    return text(x - 14 if end else x + 14, ty, shown, INK, 12, anchor="end" if end else "start")
