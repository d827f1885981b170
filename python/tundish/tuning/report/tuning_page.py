"""Writes the HTML report of `tundish tune` as one self-contained file."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ...report import html_page as html
from ...report.chart import Bar, bar_chart
from ...report.machine import describe, note
from .commands import load_text, own_tricks
from .report_queries import (
    REFERENCES,
    baseline_row,
    bytes_text,
    duration_text,
    gain_text,
    gains,
    headline,
    human_recipe,
    memory_text,
    path_to_plan,
    pays_off_text,
    plan_row,
    step_ms_text,
    verdict_text,
    waits_for_host,
)
from .results import Row, TuneReport
from .sections import sections
from .waterfall import LEFT, waterfall, waterfall_bars

if TYPE_CHECKING:
    from ..plan import Plan

_HEADS = ["trick", "step ms", "gain (95 %)", "memory", "once", "verdict", "numerics, or the reason"]
_USE = """\
import tundish

plan = LOAD
step = plan.apply(model, optimizer, loss_fn)
for batch in loader:
    loss = step(batch)      # forward, backward and the optimizer's step
    scheduler.step()        # as before
"""


def report_page(report: TuneReport, plan: Plan | None = None, file: str = "plan.json") -> str:
    """Returns the HTML page. If there is a plan, the page shows code for your own training loop.

    file  file in which the plan is saved
    """
    title = headline(report)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p class='soft'>{escape(report.job)}: {escape(report.model)}, {escape(report.optimizer)}, "
        f"batch {escape(report.batch)}, {escape(report.device)}</p>",
        f"<p class='soft'>Baseline: {escape(report.baseline)}</p>",
    ]
    if not report.finished:
        parts.append("<p><b>The run ended early: this is the best plan so far.</b></p>")
    bars = waterfall_bars(report)
    if bars:
        parts.append(html.card(waterfall(bars, title), scrolls=True))
    parts += [*_gains(report), *_memory(report), *_rows(report), *_use(report, plan, file)]
    parts += ["<h2>How it was measured</h2>", html.table(_measured(report))]
    return html.page(f"tundish tune {report.job}", parts)


def _gains(report: TuneReport) -> list[str]:
    found = list(gains(report))
    if not found:
        return []
    rows = [
        (
            f"than {name}"
            + (f" ({human_recipe(report)})" if name == REFERENCES["human recipe"] else ""),
            text,
        )
        for name, text in found
    ]
    return ["<h2>The plan is faster</h2>", html.table(rows)]


def _memory(report: TuneReport) -> list[str]:
    baseline, plan = baseline_row(report), plan_row(report)
    named = [
        (bar.name, row)
        for bar, row in zip(waterfall_bars(report), [baseline, *path_to_plan(report)])
    ]
    if plan is not None and plan.phase == "confirm":
        named.append(("plan, confirmed", plan))
    bars = [
        Bar(name, row.peak_bytes, f"{bytes_text(row.peak_bytes)}", row is plan)
        for name, row in named
        if row is not None and row.peak_bytes is not None
    ]
    if len(bars) < 2:
        return []
    return [
        "<h2>Memory</h2>",
        html.card(bar_chart([("peak", bars)], "peak memory by variant", left=LEFT), scrolls=True),
    ]


def _rows(report: TuneReport) -> list[str]:
    out = ["<h2>All variants</h2>"]
    for part in sections(report):
        out += [f"<h3>{escape(part.head)}</h3>"] if part.head else []
        out.append(html.grid(_HEADS, [_cells(report, label, row) for label, row in part.rows]))
    confirming = [row for row in report.rows if row.phase == "confirm"]
    if confirming:
        out.append("<h3>in a fresh run</h3>")
        out.append(html.grid(_HEADS, [_cells(report, row.label, row) for row in confirming]))
    if any(waits_for_host(report, row) for row in report.rows):
        out.append("<p class='soft'>*: the GPU waits for the host in this step.</p>")
    return out


def _cells(report: TuneReport, label: str, row: Row) -> list[str]:
    return [
        label,
        step_ms_text(report, row),
        gain_text(row),
        memory_text(row, baseline_row(report)),
        "" if not row.one_off_s or row.one_off_s < 1 else f"{row.one_off_s:.0f} s",
        verdict_text(row) or "reference",
        row.numerics,
    ]


def _use(report: TuneReport, plan: Plan | None, file: str) -> list[str]:
    winner = plan_row(report)
    if winner is None:
        return []
    lines = _USE.replace("LOAD", load_text(file, own_tricks(winner)))
    parts = ["<h2>How to use it</h2>", f"<pre>{escape(lines)}</pre>"]
    if plan is not None:
        parts += [
            "<p>Or the same in your own loop:</p>",
            f"<pre>{escape(plan.patch())}</pre>",
        ]
    return parts


def _measured(report: TuneReport) -> list[tuple[str, str]]:
    turns = [row.turns for row in report.rows if row.turns]
    timing = (
        "The variants took turns, one at a time, each in its own process; CUDA events on a GPU, "
        "wall time on a CPU. A gain is the median of the ratios to the baseline's turn in the same round. "
        "A step time is the baseline's median in the fresh run, divided by the gain"
    )
    if turns:
        few, many = min(turns), max(turns)
        timing += f", {few} of each" if few == many else f", {few} to {many} of each"
    rows = [("timing", timing + ".")]
    if "spread" in report.twin:
        text = f"An identical twin of the baseline varied by {100 * report.twin['spread']:.2f} %."
        if "threshold" in report.twin:
            text += f" A gain must be above {100 * report.twin['threshold']:.2f} % to be kept."
        rows.append(("noise", text))
    rows.append((
        "numerics",
        "Bitwise tricks give the same bits. Reassociation: outputs, gradients and weights differ by no more than "
        "fp32 noise. Lower precision: the loss stays in the band of fp32 runs. A trick that fails is rejected, "
        "however fast it is. Not judged: the band is too wide, and only single steps were compared with fp32.",
    ))  # fmt: skip
    if plan := plan_row(report):
        rows.append(("pays off", pays_off_text(plan)))
    rows += [("note", text) for text in report.notes]
    rows.append(("time", duration_text(report.seconds)))
    if report.machine:
        rows.append(("machine", describe(report.machine)))
        rows += [("note", note(report.machine))] if note(report.machine) else []
    rows.append(("versions", ", ".join(f"{k} {v}" for k, v in report.versions.items())))
    rows.append(("command", report.command))
    return [(word, text) for word, text in rows if text]
