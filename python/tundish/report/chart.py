"""Bar and line charts as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_FONT = "font-family='system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif'"
OURS, OTHERS, INK, SOFT = "#c2410c", "#94a3b8", "#1e293b", "#64748b"


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    text: str  # text to the right of the bar
    ours: bool = False


def bar_chart(
    groups: Sequence[tuple[str, Sequence[Bar]]], label: str, width: int = 760, left: int = 210
) -> str:
    """Draws horizontal bars from zero, with one scale for all groups. `label`: the accessible name."""
    right, bar, gap, head = 150, 24, 10, 34
    longest = max((b.value for _, bars in groups for b in bars), default=0) or 1
    body, y = [], 0
    for title, bars in groups:
        body.append(text(0, y + 20, title, SOFT, 14, bold=True))
        y += head
        for b in bars:
            length = max(1.0, (width - left - right) * b.value / longest)
            color = OURS if b.ours else OTHERS
            body.append(text(left - 12, y + 17, b.name, INK, 14, anchor="end", bold=b.ours))
            body.append(
                f"<rect x='{left}' y='{y}' width='{length:.1f}' height='{bar}' rx='3' fill='{color}'/>"
            )
            body.append(text(left + length + 8, y + 17, b.text, INK, 14, bold=b.ours))
            y += bar + gap
        y += gap
    return svg(width, y, label, body)


def line_chart(
    values: Sequence[float], label: str, unit: str, width: int = 760, height: int = 180
) -> str:
    """Draws one line over the steps, on an axis from zero to the largest value."""
    left, top, bottom = 48, 14, 28
    most = max(values, default=0) or 1
    inner_w, inner_h = width - left - 12, height - top - bottom
    body = []
    for share in (0, 0.5, 1):
        y = top + inner_h * (1 - share)
        body.append(line(left, width - 12, y, y))
        body.append(text(left - 8, y + 5, f"{most * share:.1f}", SOFT, 12, anchor="end"))
    step = inner_w / max(1, len(values) - 1)
    points = " ".join(
        f"{left + i * step:.1f},{top + inner_h * (1 - v / most):.1f}" for i, v in enumerate(values)
    )
    body.append(f"<polyline points='{points}' fill='none' stroke='{OURS}' stroke-width='2'/>")
    body.append(text(width - 12, height - 8, unit, SOFT, 12, anchor="end"))
    return svg(width, height, label, body)


def line(x1: float, x2: float, y1: float, y2: float) -> str:
    return f"<line x1='{x1:.1f}' x2='{x2:.1f}' y1='{y1:.1f}' y2='{y2:.1f}' stroke='#e2e8f0'/>"


def text(
    x: float,
    y: float,
    content: str,
    color: str,
    size: int,
    anchor: str = "start",
    bold: bool = False,
) -> str:
    weight = " font-weight='600'" if bold else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {_FONT} font-size='{size}' fill='{color}' "
        f"text-anchor='{anchor}'{weight}>{escape(content)}</text>"
    )


def svg(width: int, height: int, label: str, body: Sequence[str]) -> str:
    """Wraps `body` in an SVG element with a white background and a margin."""
    box = f"viewBox='-8 -8 {width + 16} {height + 16}' width='{width + 16}' height='{height + 16}'"
    ground = f"<rect class='ground' x='-8' y='-8' width='{width + 16}' height='{height + 16}' fill='#fff'/>"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' {box} "
        f"role='img' aria-label='{escape(label, quote=True)}'>\n"
        + "\n".join([ground, *body])
        + "\n</svg>\n"
    )
