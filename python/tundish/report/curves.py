"""Curves as SVG text, in side-by-side panels with the same axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .chart import INK, OTHERS, OURS, SOFT, line, svg, text

Curve = Sequence[tuple[float, float]]


def curve_chart(
    panels: Mapping[str, Mapping[str, Curve]], ours: str, label: str, x_name: str, y_name: str
) -> str:
    """Draws curves with both axes from 0 to 100 %. Each curve is labeled at its midpoint."""
    side, gap, left, head = 220, 34, 46, 44
    body = [text(0, 14, y_name, SOFT, 12)]
    for number, (title, curves) in enumerate(panels.items()):
        x0 = left + number * (side + gap)
        body.append(text(x0, head - 10, title, SOFT, 14, bold=True))
        for share in (0, 25, 50, 75, 100):
            x, y = x0 + side * share / 100, head + side * (100 - share) / 100
            body.append(line(x0, x0 + side, y, y))
            body.append(line(x, x, head, head + side))
            body.append(text(x, head + side + 16, str(share), SOFT, 12, anchor="middle"))
            if number == 0:
                body.append(text(x0 - 8, y + 4, str(share), SOFT, 12, anchor="end"))
        for name, points in curves.items():
            places = [(x0 + side * x / 100, head + side * (100 - y) / 100) for x, y in points]
            color = OURS if name == ours else OTHERS
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            body.append(
                f"<polyline points='{path}' fill='none' stroke='{color}' stroke-width='2.5'/>"
            )
            x, y = places[len(places) // 2]
            anchor, shift = ("end", -8) if name == ours else ("start", 8)
            body.append(text(x + shift, y + 4, name, INK, 13, anchor, bold=name == ours))
    width = left + len(panels) * (side + gap)
    body.append(text(width - gap, head + side + 36, x_name, SOFT, 12, anchor="end"))
    return svg(width, head + side + 44, label, body)
