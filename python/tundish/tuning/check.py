"""`tundish tune --check`: is the step still as fast as the saved plan says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .reading import ms_text, plan_step_ms, times_text
from .results import Report


@dataclass(frozen=True)
class Checked:
    ok: bool
    text: str
    slower_percent: float  # below zero: faster
    limit_percent: float

    def as_json(self, saved: Report, now: Report) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "text": self.text,
            "slower_percent": round(self.slower_percent, 2),
            "limit_percent": self.limit_percent,
            "saved_step_ms": plan_step_ms(saved),
            "step_ms": plan_step_ms(now),
            "gains": now.gains,
            "report": now.as_json(),
        }


def compare(saved: Report, now: Report, limit_percent: float) -> Checked:
    """The plan as it was measured when it was saved, and as it was measured now.

    On the same device the step's times are compared, so that a model that became slower is found. On
    another one only the gain over the baseline can be: both sides were measured on one machine.
    """
    if saved.device == now.device:
        before, after = plan_step_ms(saved), plan_step_ms(now)
        if not before or not after:
            return _unknown(limit_percent)
        slower = 100 * (after / before - 1)
        facts = f"{ms_text(after)} ms a step, {ms_text(before)} ms when the plan was saved"
    else:
        was = saved.gains.get("baseline", {}).get("gain")
        now_is = now.gains.get("baseline", {}).get("gain")
        if not was or not now_is:
            return _unknown(limit_percent)
        slower = 100 * (was / now_is - 1)
        facts = (
            f"{times_text(now_is)} faster than the baseline on {now.device}, {times_text(was)} when "
            f"the plan was saved on {saved.device}"
        )
    ok = slower <= limit_percent
    word = f"{abs(slower):.1f} % {'slower' if slower > 0 else 'faster'} than the saved plan"
    text = f"{word} (limit: {limit_percent:g} % slower): {facts}"
    spread = 100 * now.twin.get("spread", 0.0)
    if not ok and spread > limit_percent:
        text += f"; identical steps varied by {spread:.1f} % here, more than the limit"
    return Checked(ok, text, slower, limit_percent)


def _unknown(limit_percent: float) -> Checked:
    text = "the plan holds no step time to compare with: tune again"
    return Checked(False, text, float("inf"), limit_percent)
