"""`--apply N`: the script once more with change N, where that needs no edit, and the step it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .ranks import judge_ranks
from .run import Ended
from .verdict import Verdict


def apply_change(verdict: Verdict, number: int, run: Callable[[str, str], Ended]) -> None:
    """Sets `verdict.applied`. `run` takes what Settings.apply and .apply_to are."""
    verdict.applied = _applied(verdict, number, run)


def _applied(verdict: Verdict, number: int, run: Callable[[str, str], Ended]) -> dict[str, Any]:
    out = {
        "number": number,
        "what": "",
        "done": False,
        "text": "",
        "predicted_s": None,
        "measured_s": None,
        "difference": None,  # of the measured step from the predicted one
        "at_best": False,
        "sentence": "",
    }
    if not 1 <= number <= len(verdict.changes):
        count = len(verdict.changes)
        return {**out, "text": f"there {'is' if count == 1 else 'are'} {count} of them"}
    change = verdict.changes[number - 1]
    out |= {"what": change.what, "predicted_s": change.predicted_s, "at_best": change.at_best}
    if not change.apply:
        return {**out, "text": f"it needs an edit: {change.how}"}
    ended = run(change.apply, (verdict.facts["loader"] or {}).get("dataset", ""))
    trained = [one for one in ended.facts if one["steps"]]
    again = judge_ranks(trained) if trained else None
    if again is None or again.figures is None:
        return {**out, "text": f"the second run had no steps and ended with {ended.code}"}
    tried = again.facts["applied"] or {"done": False, "text": "the watch did not see it"}
    if not tried["done"]:
        return {**out, "text": tried["text"]}
    measured = again.figures.step_s
    out |= {"done": True, "text": tried["text"], "measured_s": measured, "sentence": again.sentence}
    if change.predicted_s:
        out["difference"] = measured / change.predicted_s - 1
    return out
