"""Scatter plots as SVG text, in panels with the same axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .chart import INK, OTHERS, OURS, SOFT, line, svg, text

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class ChartPoint:
    name: str
    x: float
    y: float
    ours: bool = False


def point_chart(
    panels: Sequence[tuple[str, Sequence[ChartPoint]]],
    label: str,
    x_name: str,
    y_name: str,
    width: int = 760,
    height: int = 170,
) -> str:
    """Draws panels below each other with shared axes. The x axis starts at zero; the y axis fits the values."""
    left, right, head, foot = 52, 20, 30, 44
    points = [point for _, panel in panels for point in panel]
    across, down = (ticks(0, max(p.x for p in points)), ticks(*_bounds([p.y for p in points])))
    inner_w, inner_h = width - left - right, height - head

    def at_x(value: float) -> float:
        return left + inner_w * value / across[-1]

    def at_y(value: float) -> float:
        return inner_h * (down[-1] - value) / (down[-1] - down[0])

    body = []
    for number, (title, panel) in enumerate(panels):
        top = number * (height + 10) + head
        body.append(text(0, top - 12, title, SOFT, 14, bold=True))
        for value in down:
            y = top + at_y(value)
            body.append(line(left, width - right, y, y))
            body.append(text(left - 8, y + 4, f"{value:.2f}", SOFT, 12, anchor="end"))
        for value in across:
            body.append(line(at_x(value), at_x(value), top, top + inner_h))
        taken = [(at_x(p.x) - 6, at_y(p.y) - 6, at_x(p.x) + 6, at_y(p.y) + 6) for p in panel]
        for p in panel:
            x, y, color = at_x(p.x), at_y(p.y), OURS if p.ours else OTHERS
            body.append(
                f"<circle cx='{x:.1f}' cy='{top + y:.1f}' r='5.5' fill='{color}' stroke='#fff'/>"
            )
            tx, ty, anchor, box = _place_label(p, x, y, taken, (left, width - right, inner_h))
            body.append(_label_background(box, top))  # hides the grid lines behind the label
            body.append(text(tx, top + ty, p.name, INK, 13, anchor, bold=p.ours))
    bottom = len(panels) * (height + 10) - 10
    for value in across:
        body.append(text(at_x(value), bottom + 18, f"{value:,.0f}", SOFT, 12, anchor="middle"))
    body.append(text(width - right, head - 12, y_name, SOFT, 12, anchor="end"))
    body.append(text(width - right, bottom + 38, x_name, SOFT, 12, anchor="end"))
    return svg(width, bottom + foot, label, body)


def ticks(low: float, high: float) -> list[float]:
    """Returns evenly spaced round numbers that enclose [low, high], usually four to nine."""
    power = 10.0 ** math.floor(math.log10(high - low))
    step = next(s * power for s in (0.2, 0.5, 1, 2) if (high - low) / (s * power) <= 7)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * i for i in range(first, last + 1)]


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """Returns the range of `values`, extended so that a label fits above and below."""
    room = max(0.25 * (max(values) - min(values)), 0.02)
    return min(values) - room, max(values) + room


def _place_label(
    point: ChartPoint, x: float, y: float, taken: list[Box], limits: tuple[float, float, float]
) -> tuple[float, float, str, Box]:
    """Returns the first label position that overlaps no other box, and adds its box to `taken`.

    If all positions overlap, uses the first one.
    """
    length, (left, right, bottom) = 7.4 * len(point.name), limits
    above, below, beside = y - 12, y + 21, y + 4
    places = [(x, above, "middle"), (x, below, "middle"), (x + 8, above, "end")]
    places += [(x - 8, above, "start"), (x + 8, below, "end"), (x - 8, below, "start")]
    places += [(x + 10, beside, "start"), (x - 10, beside, "end"), (x, below + 16, "middle")]
    boxes = []
    for tx, ty, anchor in places:
        first = tx - {"start": 0.0, "middle": length / 2, "end": length}[anchor]
        boxes.append((first, ty - 12, first + length, ty + 4))
    free = [
        i
        for i, box in enumerate(boxes)
        if box[0] >= left and box[2] <= right and box[1] >= -4 and box[3] <= bottom
        if not any(_overlap(box, other) for other in taken)
    ]
    best = free[0] if free else 0
    taken.append(boxes[best])
    return *places[best], boxes[best]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _label_background(box: Box, top: float) -> str:
    left, upper, right, lower = box
    return (
        f"<rect class='ground' x='{left:.1f}' y='{top + upper:.1f}' "
        f"width='{right - left:.1f}' height='{lower - upper:.1f}' fill='#fff'/>"
    )
