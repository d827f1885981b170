"""`--apply`: the script once more with one change, where that needs no edit, and the step it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..verdict.changes import Change
from ..verdict.straggler import judge_ranks
from ..verdict.verdict import Verdict
from .command import Ended


def apply_change(
    verdict: Verdict, wanted: int | str, run: Callable[[str, str, str], Ended]
) -> None:
    """Sets `verdict.applied`. `wanted`: what change_of() returned. `run` takes Settings.apply, .apply_to and .apply_at."""
    verdict.applied = _applied(verdict, wanted, run)


def applied_name(applied: dict[str, Any]) -> str:
    """How the text calls the change: its number, or the word where the list does not have it."""
    return str(applied["number"] or applied["apply"])


def _applied(
    verdict: Verdict, wanted: int | str, run: Callable[[str, str, str], Ended]
) -> dict[str, Any]:
    number, change = _find(verdict, wanted)
    out = {
        "number": number,
        "apply": change.apply if change else "",
        "what": change.what if change else "",
        "done": False,
        "text": "",
        "predicted_s": change.predicted_s if change else None,
        "measured_s": None,
        "difference": None,  # of the measured step from the predicted one
        "at_best": bool(change and change.at_best),
        "sentence": "",
    }
    if change is None:
        count = len(verdict.changes)
        return {**out, "text": f"there {'is' if count == 1 else 'are'} {count} of them"}
    if not change.apply:
        return {**out, "text": f"it needs an edit: {change.how}"}
    if verdict.figures is None:
        return {**out, "text": "there is no step to compare with"}
    dataset = (verdict.facts["loader"] or {}).get("dataset", "")
    ended = run(change.apply, dataset, ",".join(verdict.facts.get("origins", [])))
    trained = [one for one in ended.facts if one["steps"]]
    again = judge_ranks(trained) if trained else None
    if again is None or again.figures is None:
        return {**out, "text": f"the second run had no steps and ended with {ended.code}"}
    unseen: dict[str, Any] = {"done": False, "text": "the watch did not see it"}
    every = [one["applied"] or unseen for one in (again.facts, *trained)]
    tried = next((one for one in every if not one["done"]), every[0])
    if not tried["done"]:  # in one rank is enough: the others wait for it
        return {**out, "text": tried["text"]}
    measured = again.figures.step_s
    out |= {"done": True, "text": tried["text"], "measured_s": measured, "sentence": again.sentence}
    if change.predicted_s:
        out["difference"] = measured / change.predicted_s - 1
    return out


def _find(verdict: Verdict, wanted: int | str) -> tuple[int | None, Change | None]:
    """The change and its number. One that is named in words need not be in the list; then nothing is predicted."""
    for number, change in enumerate(verdict.changes, 1):
        if wanted in (number, change.apply):
            return number, change
    if isinstance(wanted, int):
        return wanted, None
    return None, Change(wanted, "", None, apply=wanted)
