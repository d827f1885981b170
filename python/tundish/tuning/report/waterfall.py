"""Chart of a tuning run: the step time after each kept trick, from the baseline to the plan."""

from __future__ import annotations

from dataclasses import dataclass

from ...report.chart import INK, OTHERS, OURS, SOFT, svg, text
from .report_queries import baseline_row, gain_text, ms_text, path_to_plan, plan_row, trick_set
from .results import Row, TuneReport

_SAVED = "#fed7aa"  # time saved by the trick
_BAR, _GAP = 26, 12
LEFT = 312  # width of the names in pixels


@dataclass(frozen=True)
class WaterfallBar:
    """A bar of the chart: step time `ms`, the step time `before` the trick, and the interval's ends."""

    name: str
    ms: float
    before: float
    low: float
    high: float
    text: str
    ours: bool = False


def waterfall_bars(report: TuneReport) -> list[WaterfallBar]:
    """Returns bars for the baseline, for each trick of the plan added in turn, and for the whole plan."""
    baseline, plan = baseline_row(report), plan_row(report)
    if baseline is None or baseline.step_ms is None:
        return []
    ms = baseline.step_ms
    out = [WaterfallBar("baseline", ms, ms, ms, ms, f"{ms_text(ms)} ms")]
    have: frozenset[str] = frozenset()
    for row in path_to_plan(report):
        out.append(_trick_bar(row, "+ " + ", ".join(sorted(trick_set(row) - have)), ms))
        ms, have = row.step_ms or ms, trick_set(row)
    if plan is not None and plan.phase == "confirm" and plan.step_ms is not None:
        out.append(_trick_bar(plan, "plan, confirmed", out[0].ms, ours=True))
    return out


def _trick_bar(row: Row, name: str, before: float, ours: bool = False) -> WaterfallBar:
    ms = row.step_ms or 0.0
    low = high = ms
    if row.gain and row.low and row.high:  # converts the interval of the gain to times
        low, high = ms * row.gain / row.high, ms * row.gain / row.low
    gain = gain_text(row)
    return WaterfallBar(name, ms, before, low, high, f"{ms_text(ms)} ms   {gain}".rstrip(), ours)


def waterfall(bars: list[WaterfallBar], label: str, width: int = 760, left: int = LEFT) -> str:
    """Draws horizontal bars. The pale part is the time saved, and the thin line is the 95 % interval."""
    right = 215
    longest = max((bar.before for bar in bars), default=0) or 1
    scale = (width - left - right) / longest
    body, y = [text(0, 14, "ms per step, shorter is better", SOFT, 14, bold=True), *_legend()], 30
    for bar in bars:
        color = OURS if bar.ours else OTHERS
        body.append(text(left - 12, y + 18, _cut(bar.name), INK, 14, anchor="end", bold=bar.ours))
        body.append(_rect(left, y, bar.ms * scale, color))
        if bar.before > bar.ms and not bar.ours:
            body.append(_rect(left + bar.ms * scale, y, (bar.before - bar.ms) * scale, _SAVED))
        if bar.high > bar.low:
            high = min(bar.high, longest)  # an interval beyond the chart is cut
            body.append(_whisker(left + bar.low * scale, left + high * scale, y + _BAR / 2))
        end = left + max(bar.ms, min(bar.high, longest), 0 if bar.ours else bar.before) * scale
        body.append(text(end + 8, y + 18, bar.text, INK, 14, bold=bar.ours))
        y += _BAR + _GAP
    return svg(width, y, label, body)


def _legend() -> list[str]:
    """Explains the colors and the thin line, to the right of the title."""
    out, x = [], 250.0
    meanings = ((OTHERS, "a step"), (_SAVED, "saved by the trick"), (OURS, "the plan"))
    for color, meaning in meanings:
        out.append(f"<rect x='{x:.1f}' y='4' width='11' height='11' fill='{color}'/>")
        out.append(text(x + 16, 14, meaning, SOFT, 13))
        x += 36 + 7 * len(meaning)
    return [*out, text(x, 14, "line: 95 % interval", SOFT, 13)]


def _rect(x: float, y: float, width: float, color: str) -> str:
    width = max(1.0, width)
    return f"<rect x='{x:.1f}' y='{y}' width='{width:.1f}' height='{_BAR}' fill='{color}'/>"


def _whisker(x1: float, x2: float, y: float) -> str:
    ends = "".join(
        f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{y - 5:.1f}' y2='{y + 5:.1f}' stroke='{INK}'/>"
        for x in (x1, x2)
    )
    return f"<line x1='{x1:.1f}' x2='{x2:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='{INK}'/>{ends}"


def _cut(name: str, most: int = 42) -> str:
    return name if len(name) <= most else name[: most - 3] + "..."
