"""The HTML page of `tundish boost`: one file, pictures first."""

from __future__ import annotations

import shlex
from html import escape

from ...report import html_page as html
from ...report.chart import Bar, bar_chart
from ...report.machine import describe, note
from ..search.results import KEPT, BoostResult, ChangeRow
from .boost_text import memory_text, rate_unit, seconds_text
from .loss_chart import loss_chart

_HEADS = ["change", "rate", "gain", "memory", "verdict", "training, or the reason"]


def boost_page(result: BoostResult, command: str, file: str = "boost.json") -> str:
    """Returns the page. `command`: the command of the search; `file`: where the result is saved."""
    title = headline(result)
    parts = [f"<h1>{escape(title)}</h1>", f"<p class='soft'>{escape(result.sentence)}</p>"]
    if not result.finished:
        parts.append("<p><b>The search ended early: these are the best changes so far.</b></p>")
    parts.append(html.card(_bars(result), scrolls=True))
    parts += _losses(result)
    parts += ["<h2>Changes</h2>", html.grid(_HEADS, [_row(row, result) for row in result.rows])]
    parts += _use(result, file)
    if result.loader_proof:
        parts += ["<h2>The loader</h2>", f"<pre>{escape(result.loader_proof)}</pre>"]
    parts += ["<h2>How it was measured</h2>", html.table(_measured(result, command))]
    return html.page(f"tundish boost {result.script}", parts)


def headline(result: BoostResult) -> str:
    base, boosted, unit = result.baseline, result.boosted, rate_unit(result)
    name = result.script or shlex.join(result.command)
    if not result.changes:
        return f"{name}: no change makes it faster ({base.rate:,.0f} {unit})"
    return f"{name}: {result.gain:.2f}x faster, {base.rate:,.0f} to {boosted.rate:,.0f} {unit}"


def _bars(result: BoostResult) -> str:
    """Draws the rates: the baseline, each kept change on top of those before, the fresh run."""
    unit = rate_unit(result)
    rows = [Bar("baseline", result.baseline.rate, f"{result.baseline.rate:,.0f} {unit}")]
    for row in result.rows:
        if row.verdict == KEPT and row.measured:
            rate = row.measured.rate
            gain = f"   {row.gain:.2f}x" if row.gain else ""
            rows.append(Bar(f"+ {row.title}", rate, f"{rate:,.0f}{gain}"))
    if result.changes:
        rate = result.boosted.rate
        rows.append(Bar("boosted", rate, f"{rate:,.0f}   {result.gain:.2f}x", ours=True))
    return bar_chart([(unit, rows)], headline(result), left=300)


def _losses(result: BoostResult) -> list[str]:
    if not (result.proof and result.baseline_losses and result.boosted_losses):
        return []
    limit = float(result.proof["limit"])
    chart = loss_chart(result.baseline_losses, result.boosted_losses, limit, "losses")
    text = (
        "The same weights, batches and random numbers. The unmodified script ran several times, "
        "with its weights nudged by half a unit in the last place. "
        f"{result.proof['sentence'].capitalize()}."
    )
    return ["<h2>Training</h2>", html.card(chart, scrolls=True), f"<p>{escape(text)}</p>"]


def _row(row: ChangeRow, result: BoostResult) -> list[str]:
    rate = f"{row.measured.rate:,.0f}" if row.measured else ""
    gain = f"{row.gain:.2f}x" if row.gain is not None else ""
    memory = memory_text(result.baseline, row.measured) if row.measured else ""
    why = row.training if row.verdict == KEPT else row.reason or row.training
    place = f" ({row.place})" if row.place else ""
    return [row.title, rate, gain, memory, row.verdict, why.strip().split("\n")[0] + place]


def _use(result: BoostResult, file: str) -> list[str]:
    if not result.changes:
        return []
    run = f"tundish run --boost {shlex.quote(file)} -- {shlex.join(result.command)}"
    python = f'import tundish\n\ntundish.boost("{file}")  # in the script, before the training loop'
    return ["<h2>Train with it</h2>", f"<pre>{escape(run)}</pre>", f"<pre>{escape(python)}</pre>"]


def _measured(result: BoostResult, command: str) -> list[tuple[str, str]]:
    base, boosted = result.baseline, result.boosted
    pairs = ", ".join(f"{seconds_text(a)} / {seconds_text(b)}" for a, b in result.pairs)
    rows = [
        ("command", command),
        ("machine", describe(result.machine)),
        ("versions", ", ".join(f"{name} {text}" for name, text in result.versions.items())),
        ("step", f"{seconds_text(base.step_s)} before, {seconds_text(boosted.step_s)} after"),
        ("fresh runs", pairs or "none"),
        ("search", f"{result.seconds:.0f} s"),
    ]
    return rows + [("note", text) for text in [*result.notes, note(result.machine)] if text]
