"""The result of a boost as a table for the terminal."""

from __future__ import annotations

import shlex

from ..._cli.terminal import BOLD, CYAN, RED, YELLOW, paint
from ..search.results import FAILED, KEPT, LEFT_OUT, REJECTED, BoostResult, ChangeRow, Measured

_WIDTHS = (40, 12, 9, 9)


def boost_text(result: BoostResult, color: bool, output: str, more: dict[str, str]) -> str:
    """`output`: the file of the result. `more`: further lines: label and text."""
    base, unit = result.baseline, rate_unit(result)
    lines = [
        f"  {paint('baseline', BOLD, color)}   {base.rate:,.0f} {unit}   {seconds_text(base.step_s)} per step   "
        f"training waits for data {base.wait:.0%} of the time",
        f"  {result.sentence}",
        "",
        "  " + _columns("change", unit, "gain", "memory", "training"),
    ]
    tried = [row for row in result.rows if row.verdict != LEFT_OUT]
    for row in tried:
        lines += _row_lines(row, base, color)
    lines.append("  " + "-" * 92)
    boosted = result.boosted
    memory = memory_text(base, boosted)
    head = _columns(
        "boosted", f"{boosted.rate:,.0f}", f"{result.gain:.2f}x", memory, _proof(result)
    )
    lines.append("  " + paint(head, BOLD, color))
    left_out = [row for row in result.rows if row.verdict == LEFT_OUT]
    if left_out:
        lines.append("")
    for row in left_out:
        place = f" ({row.place})" if row.place else ""
        lines.append(f"  not tried: {row.title}: {_first_line(row.reason)}{place}")
    lines += [f"  note: {note}" for note in result.notes]
    lines += ["", *_next_lines(result, color, output, more)]
    return "\n".join(lines) + "\n"


def _row_lines(row: ChangeRow, base: Measured, color: bool) -> list[str]:
    rate = f"{row.measured.rate:,.0f}" if row.measured else "-"
    gain = f"{row.gain:.2f}x" if row.gain is not None else "-"
    memory = memory_text(base, row.measured) if row.measured else "-"
    if row.verdict == KEPT:
        ways = [f"    by {way}" for way in row.ways.values()]
        return ["  " + _columns(row.title, rate, gain, memory, row.training), *ways]
    shade = RED if row.verdict in (REJECTED, FAILED) else YELLOW
    verdict = paint(row.verdict, shade, color)
    why = f": {_first_line(row.reason)}" if row.verdict in (REJECTED, FAILED) else ""
    return ["  " + _columns(row.title, rate, gain, memory, verdict + why)]


def _columns(title: str, *cells: str) -> str:
    head = title if len(title) <= _WIDTHS[0] else title[: _WIDTHS[0] - 3] + "..."
    text = head.ljust(_WIDTHS[0])
    for cell, width in zip(cells, _WIDTHS[1:]):
        text += cell.rjust(width)
    return text + ("   " + cells[-1] if len(cells) == len(_WIDTHS) else "")


def _proof(result: BoostResult) -> str:
    return str(result.proof["sentence"]) if result.proof else ""


def _next_lines(result: BoostResult, color: bool, output: str, more: dict[str, str]) -> list[str]:
    rows = {"saved": output, **more}
    lines = []
    if result.changes:
        run = f"tundish run --boost {shlex.quote(output)} -- {shlex.join(result.command)}"
        rows = {"saved": output, "run": run, **more}
    elif any(row.measured for row in result.rows):
        lines = ["  No change that was tried makes this script faster on this machine."]
    else:
        lines = ["  No change was tried."]
    shown = [f"  {paint(name.ljust(8), CYAN, color)}{text}" for name, text in rows.items()]
    return [*lines, *shown]


def rate_unit(result: BoostResult) -> str:
    return "samples/s" if result.baseline.samples else "steps/s"


def memory_text(base: Measured, now: Measured) -> str:
    if not base.peak_bytes or not now.peak_bytes:
        return "="
    change = now.peak_bytes / base.peak_bytes - 1
    return "=" if abs(change) < 0.005 else f"{change:+.0%}"


def seconds_text(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.2f} ms"


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""
