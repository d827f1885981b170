"""Formats the results of `tundish tune` as a table for a terminal or a log."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from ..._cli.terminal import BOLD, RED, paint
from .commands import load_text, own_tricks
from .report_queries import (
    REFERENCES,
    baseline_row,
    duration_text,
    gain_text,
    gains,
    headline,
    human_recipe,
    memory_text,
    pays_off_text,
    plan_row,
    step_ms_text,
    trick_title,
    verdict_text,
    waits_for_host,
)
from .results import COMPARED, IMPOSSIBLE, KEPT, REJECTED, Row, TuneReport
from .sections import sections

_HEADS = ("trick", "step ms", "gain (95 % interval)", "memory", "numerics", "verdict")
_TO_THE_RIGHT = ("step ms", "memory")
_NUMERICS = _HEADS.index("numerics")
_LEAST_NUMERICS = 16  # columns; the numerics are left out if there is less space
_LONGEST_NUMERICS = 48
# How to make the table narrower, in this order: (what a row leaves out, columns of a name). Longer names
# are wrapped; None: every name is whole.
_SHORTER: tuple[tuple[int, int | None], ...] = ((0, None), (0, 40), (1, 28), (2, 24))
_GAP = 2  # spaces between columns


def report_text(report: TuneReport, width: int = 100, color: bool = False, plan: str = "") -> str:
    """Returns a table of all variants, and the result, as text.

    plan  file in which the plan is saved
    """
    width = max(70, width)
    parts = [_head(report, width), _table(report, width, color), _summary(report, width, color)]
    if report.notes:
        parts.append([line for note in report.notes for line in _labeled("note", note, width)])
    parts.append(_usage(report, plan, width))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(report: TuneReport, width: int) -> list[str]:
    lines = _labeled("job", f"{report.job}: {report.model}, {report.optimizer}", width)
    lines += _labeled("batch", report.batch, width)
    torch = report.versions.get("torch", "")
    lines += _labeled("device", report.device + (f", torch {torch}" if torch else ""), width)
    return lines + _labeled("baseline", report.baseline, width)


def _table(report: TuneReport, width: int, color: bool) -> list[str]:
    parts = sections(report)
    shown = [(label, row) for part in parts for label, row in part.rows]
    winner = plan_row(report)
    for short, longest in _SHORTER:
        heads = [*_HEADS]
        heads[2] = heads[2] if short < 2 else "gain"
        cells = [heads, *(_cells(report, label, row, short) for label, row in shown)]
        last = [] if winner is None else _cells(report, "plan", winner, short)
        widths = _widths([*cells, *([last] if last else [])], width, longest)
        shows_all = widths[_NUMERICS] or not any(one.numerics for _, one in shown)
        if _total(widths) <= width and (longest or shows_all):
            break
    lines = [paint(_line(heads, widths), BOLD, color)]
    for part in parts:
        if part.head:
            lines += textwrap.wrap(part.head, width, initial_indent="  ", subsequent_indent="    ")
        for label, row in part.rows:
            texts = _cells(report, label, row, short)
            if part.head:
                texts[0] = "  " + texts[0]
            lines += _row_lines(row, texts, widths, short, width, color)
    lines.append("  " + "-" * (min(width, _total(widths)) - 2))
    if winner is not None:
        kept = replace(winner, verdict=KEPT)  # even if the run ended early
        lines += _row_lines(kept, [*last[:-1], ""], widths, short, width, color)
    return lines


def _row_lines(
    row: Row, texts: list[str], widths: list[int], short: int, width: int, color: bool
) -> list[str]:
    below = _below(row, widths[_NUMERICS], short)
    if row.numerics in below:
        texts[_NUMERICS] = ""
    code = {KEPT: BOLD, REJECTED: RED}.get(row.verdict, "")
    columns = widths[0] - 2 if texts[0].startswith("  ") else widths[0]
    name = _pieces(texts[0].strip(), columns)
    start = texts[0][: len(texts[0]) - len(texts[0].lstrip())]
    lines = [_line([start + name[0], *texts[1:]], widths)]
    lines += [f"  {start}{piece}" for piece in name[1:]]
    lines = [paint(line, code, color) for line in lines]
    for text in below:
        indent = " " * 6
        lines += textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)
    return lines


def _cells(report: TuneReport, label: str, row: Row, short: int) -> list[str]:
    """Returns the cells of a row. `short=1` leaves out one-off costs; `short=2` also leaves out intervals."""
    gain, verdict = gain_text(row), verdict_text(row)
    if short == 0 and _once(row):
        gain += f"{', ' if gain else ''}{_once(row)}"
    return [
        label,
        step_ms_text(report, row),
        gain if short < 2 else gain.partition(" (")[0],
        memory_text(row, baseline_row(report)),
        row.numerics,
        verdict if short == 0 else verdict.partition(" (")[0],
    ]


def _once(row: Row) -> str:
    """Returns the one-off cost of compilation, graph capture and cuDNN benchmarks."""
    if row.one_off_s is None or row.one_off_s < 1 or row.verdict == COMPARED:
        return ""
    return f"{row.one_off_s:.0f} s once"


def _below(row: Row, numerics: int, short: int) -> list[str]:
    """Returns lines below the row for texts that do not fit into the columns.

    The numerics of a kept variant and the reason for a rejection are never cut.
    """
    out = []
    if row.verdict in (KEPT, REJECTED, IMPOSSIBLE) and len(row.numerics) > numerics:
        out.append(row.numerics)
    if short and _once(row) and row.verdict == KEPT:
        pays = f", pays after {row.break_even_steps:,} steps" if row.break_even_steps else ""
        out.append(_once(row) + pays)
    return out


def _pieces(name: str, columns: int) -> list[str]:
    """Breaks the name of a variant into lines. All but the first are indented by two columns."""
    return textwrap.wrap(name, columns, subsequent_indent="  ", break_on_hyphens=False) or [name]


def _widths(cells: Sequence[Sequence[str]], width: int, longest: int | None) -> list[int]:
    """Returns the column widths. The numerics get the remaining space, 0 if there is too little.

    longest  columns of a name if the table needs the space; None: as many as the longest name has
    """
    widths = [max(len(row[i]) for row in cells) for i in range(len(_HEADS))]
    widths[0] += 2  # rows of a phase are indented
    whole, widths[0] = widths[0], min(widths[0], (longest or widths[0]) + 2)
    natural, widths[_NUMERICS] = widths[_NUMERICS], 0
    left = width - _total(widths) - _GAP
    widths[_NUMERICS] = min(natural, _LONGEST_NUMERICS, left)
    if widths[_NUMERICS] < _LEAST_NUMERICS:
        widths[_NUMERICS] = 0
    widths[0] = min(whole, widths[0] + max(0, width - _total(widths)))
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = [columns for columns in widths if columns]
    return 2 + sum(shown) + _GAP * (len(shown) - 1)


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    out = []
    for head, text, columns in zip(_HEADS, texts, widths):
        if columns:
            text = _cut(text, columns)
            out.append(text.rjust(columns) if head in _TO_THE_RIGHT else text.ljust(columns))
    return ("  " + (" " * _GAP).join(out)).rstrip()


def _summary(report: TuneReport, width: int, color: bool) -> list[str]:
    sentence = headline(report)
    if not report.finished:
        sentence += " (the run ended early; this is the best plan so far)"
    lines = [paint("  " + line, BOLD, color) for line in textwrap.wrap(sentence, width - 2)]
    winner = plan_row(report)
    if winner is not None:
        titles = " + ".join(trick_title(values) for values in winner.tricks)
        lines += textwrap.wrap(titles, width, initial_indent="    ", subsequent_indent="    ")
    found = list(gains(report))
    columns = max((len(name) for name, _ in found), default=0)
    for name, text in found:
        recipe = f"   {human_recipe(report)}" if name == REFERENCES["human recipe"] else ""
        line = f"    {text:<20} {'than ' + name:<{columns + 5}}{recipe}".rstrip()
        if len(line) > width and recipe:
            lines.append(line[: -len(recipe)].rstrip())
            indent = " " * 25
            line = textwrap.fill(
                recipe.strip(), width, initial_indent=indent, subsequent_indent=indent
            )
        lines += line.splitlines()
    if winner is not None:
        lines += _labeled("pays off", pays_off_text(winner), width)
    if any(waits_for_host(report, row) for row in report.rows):
        lines += _labeled("*", "the GPU waits for the host in this step", width)
    spread = report.twin.get("spread")
    if spread is not None:
        text = f"an identical twin of the baseline varied by {100 * spread:.1f} %"
        if "threshold" in report.twin:
            text += f"; a gain must be above {100 * report.twin['threshold']:.1f} %"
        lines += _labeled("noise", text, width)
    return lines + _labeled("time", duration_text(report.seconds), width)


def _usage(report: TuneReport, plan: str, width: int) -> list[str]:
    """Returns lines that show how to use the plan. They are not wrapped, so that they can be copied."""
    winner = plan_row(report)
    if winner is None:
        return []
    load = load_text(plan, own_tricks(winner)) if plan else "plan"
    return [f"  {'next':<9} step = {load}.apply(model, optimizer, loss_fn); loss = step(batch)"]


def _labeled(word: str, text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text, width, initial_indent=f"  {word:<9} ", subsequent_indent=" " * 12)
    return lines if text else []


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 3] + "..."
