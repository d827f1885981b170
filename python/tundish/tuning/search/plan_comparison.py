"""Compares new measurements of a plan's tricks with the measurements saved in the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..report.report_queries import baseline_row, ms_text, plan_row, row_of, times_text
from ..report.results import NOT_CHECKED, NOT_JUDGED, REJECTED, TuneReport


@dataclass(frozen=True)
class PlanComparison:
    ok: bool
    text: str
    slower_percent: float  # negative if the plan is faster now
    limit_percent: float
    saved_ms: float | None = None
    now_ms: float | None = None
    word: str = "slower"  # what is wrong unless ok

    def as_json(self, now: TuneReport) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "text": self.text,
            "slower_percent": round(self.slower_percent, 2),
            "limit_percent": self.limit_percent,
            "saved_step_ms": self.saved_ms,
            "step_ms": self.now_ms,
            "gains": now.gains,
            "report": now.as_json(),
        }


def compare_with_plan(
    tricks: list[dict[str, Any]], saved: TuneReport, now: TuneReport, limit_percent: float
) -> PlanComparison:
    """Compares the measurements in the saved plan with new ones.

    On the same device it compares step times, which detects a model that became slower. On another device
    it compares gains over the baseline, because both were measured on one machine. Wrong numbers are never ok.
    """
    then = row_of(saved, tricks) or plan_row(saved) or baseline_row(saved)
    here = row_of(now, tricks)
    before, after = then.step_ms if then else None, here.step_ms if here else None
    if then is None or here is None or not before or not after:
        text = "no step time to compare: the plan has none, or the measurement failed"
        return PlanComparison(False, text, float("inf"), limit_percent, before, after)
    if saved.device == now.device:
        slower = 100 * (after / before - 1)
        facts = f"{ms_text(after)} ms a step, {ms_text(before)} ms when the plan was saved"
    else:
        was, is_now = then.gain or 1.0, here.gain or 1.0
        slower = 100 * (was / is_now - 1)
        facts = (
            f"{times_text(is_now)} faster than the baseline on {now.device}, {times_text(was)} when "
            f"the plan was saved on {saved.device}"
        )
    ok = slower <= limit_percent
    word = f"{abs(slower):.1f} % {'slower' if slower > 0 else 'faster'} than the saved plan"
    text = f"{word} (limit: {limit_percent:g} % slower): {facts}"
    spread = 100 * now.twin.get("spread", 0.0)
    if not ok and spread > limit_percent:
        text += f"; identical steps varied by {spread:.1f} % here, more than the limit"
    unsure = (NOT_CHECKED, NOT_JUDGED)
    text += "".join(f"; {note}" for note in now.notes if note.startswith(unsure))
    if here.verdict == REJECTED:
        text = f"the numbers are wrong, {here.numerics}; {text}"
        return PlanComparison(False, text, slower, limit_percent, before, after, REJECTED)
    return PlanComparison(ok, text, slower, limit_percent, before, after)
