"""Draws a chart with one bar per step, ordered by phase. Waiting for data is stacked on top."""

from __future__ import annotations

from itertools import groupby

from ...report.chart import INK, OTHERS, OURS, SOFT, line, svg, text
from ..doctor_json import StepJson
from .verdict_text import ms

MOST = 400  # largest number of bars
LEFT, TOP, BOTTOM, WIDTH, HEIGHT = 64, 24, 24, 760, 200


def steps_chart(steps: list[StepJson], waiting_is_cause: bool = True) -> str:
    """Draws the chart. Returns "" for fewer than two steps.

    Orange highlights the time spent waiting for data if that is the cause, otherwise the rest of the
    step.
    """
    shown = steps[-MOST:]
    if len(shown) < 2:
        return ""
    # Cut off rare long steps, such as steps with a validation, so that the others stay legible.
    ordered = sorted(step["s"] for step in shown)
    most = min(ordered[-1], 3 * ordered[len(ordered) // 2]) or 1.0
    inner = HEIGHT - TOP - BOTTOM
    width = (WIDTH - LEFT) / len(shown)
    body = []
    for share in (0.0, 0.5, 1.0):
        y = TOP + inner * (1 - share)
        body.append(line(LEFT, WIDTH, y, y))
        body.append(text(LEFT - 8, y + 4, _label(most * share), SOFT, 12, anchor="end"))
    work, waiting = (OTHERS, OURS) if waiting_is_cause else (OURS, SOFT)
    for number, step in enumerate(shown):
        x, rest = LEFT + number * width, max(0.0, step["s"] - step["data_s"])
        body.append(_bar(x, width, 0.0, min(rest, most) / most * inner, work))
        top = min(step["s"], most)
        body.append(_bar(x, width, min(rest, most) / most * inner, top / most * inner, waiting))
    number, end = 0, 0.0
    for phase, group in groupby(shown, key=lambda step: step["phase"]):
        x = LEFT + number * width
        x = max(x, end)  # a name begins after the previous name
        body.append(text(x, 12, phase, INK, 12))
        end = x + 7.5 * (len(phase) + 1)
        number += len(list(group))
    body.append(text(WIDTH, HEIGHT - 4, f"{len(shown)} steps", SOFT, 12, anchor="end"))
    return svg(WIDTH, HEIGHT, f"duration of {len(shown)} steps, by phase", body)


def _label(seconds: float) -> str:
    if seconds == 0:
        return "0"
    return f"{seconds:,.0f} s" if seconds >= 10 else ms(seconds)


def _bar(x: float, width: float, low: float, high: float, color: str) -> str:
    y = HEIGHT - BOTTOM - high
    return (
        f"<rect x='{x:.2f}' y='{y:.1f}' width='{max(0.6, width - 0.6):.2f}' "
        f"height='{max(0.0, high - low):.1f}' fill='{color}'/>"
    )
