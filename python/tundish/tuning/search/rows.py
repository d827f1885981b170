"""Creates the rows of the report from timings and verdicts."""

from __future__ import annotations

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
    row.step_ms = middle_ms(turns)
    row.host_ms = median(turn.host_ms for turn in turns)
    row.host_bound = is_host_bound(turns)
    row.gain, row.low, row.high, row.turns = gain.gain, gain.low, gain.high, gain.turns
    row.peak_bytes = peak_bytes
    row.break_even_steps = break_even(row.one_off_s, middle_ms(base), row.step_ms)
    row.numerics, row.grade = gate.text, gate.grade
    row.verdict = (
        REJECTED if gate.broken else FASTER if gain.faster else SLOWER if gain.slower else NO_GAIN
    )


def break_even(one_off_s: float | None, base_ms: float, ms: float) -> int | None:
    """Returns the number of steps that pay back the one-off cost, or None if they never do."""
    if one_off_s is None or ms >= base_ms:
        return None
    return round(1e3 * one_off_s / (base_ms - ms))
