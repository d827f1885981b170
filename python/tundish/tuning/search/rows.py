"""Creates the rows of the report from timings and verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from ..report.results import COMPARED, FASTER, IMPOSSIBLE, NO_GAIN, REJECTED, SLOWER, Row
from ..trials.paired_times import Gain, TimedTurn, is_host_bound, middle_ms
from ..trials.pool import TrialOutcome
from ..tricks import Trick
from .gates import GateVerdict

Variant = tuple[Trick, ...]


def label(variant: Variant) -> str:
    return " + ".join(_title(trick) for trick in variant)


def _title(trick: Trick) -> str:
    mode = getattr(trick, "mode", "default")
    return trick.title if mode == "default" else f"{trick.title} ({mode})"


def reference_row(name: str, outcome: TrialOutcome, peak_bytes: int | None) -> Row:
    return Row(
        name,
        "reference",
        [],
        COMPARED,
        step_ms=outcome.step_ms,
        measured_ms=outcome.step_ms,
        peak_bytes=peak_bytes,
        one_off_s=outcome.one_off_s,
    )


def variant_row(name: str, phase: str, variant: Variant, outcome: TrialOutcome) -> Row:
    """Returns a row without times. If the trial could not be prepared, the row stays without times."""
    row = Row(name, phase, [trick.as_json() for trick in variant], NO_GAIN)
    row.one_off_s = outcome.one_off_s
    if outcome.failed:
        row.verdict, row.numerics = IMPOSSIBLE, outcome.failed
    return row


def fill_row(
    row: Row,
    turns: list[TimedTurn],
    base: list[TimedTurn],
    gain: Gain,
    peak_bytes: int | None,
    gate: GateVerdict,
) -> None:
    row.measured_ms = middle_ms(turns)
    row.step_ms = middle_ms(base) / gain.gain
    row.host_ms = median(turn.host_ms for turn in turns)
    row.host_bound = is_host_bound(turns)
    row.gain, row.low, row.high, row.turns = gain.gain, gain.low, gain.high, gain.turns
    row.peak_bytes = peak_bytes
    row.break_even_steps = break_even(row.one_off_s, middle_ms(base), row.step_ms)
    row.numerics, row.grade, row.judged = gate.text, gate.grade, gate.judged
    row.verdict = (
        REJECTED if gate.broken else FASTER if gain.faster else SLOWER if gain.slower else NO_GAIN
    )


def align_times(rows: Iterable[Row], baseline_ms: float) -> None:
    """Derives the step time of every row from one baseline time and the row's gain.

    The machine may be slower in one phase than in another, so the medians of different phases are not
    comparable. The gains are, because each compares turns of the same rounds.
    """
    for row in rows:
        if row.phase == "reference":
            row.step_ms = baseline_ms
        elif row.gain:
            row.step_ms = baseline_ms / row.gain
            row.break_even_steps = break_even(row.one_off_s, baseline_ms, row.step_ms)


def break_even(one_off_s: float | None, base_ms: float, ms: float) -> int | None:
    """Returns the number of steps that pay back the one-off cost, or None if they never do."""
    if one_off_s is None or ms >= base_ms:
        return None
    return round(1e3 * one_off_s / (base_ms - ms))
