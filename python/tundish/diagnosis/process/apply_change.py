"""`tundish doctor --apply`: runs the script again with one change, and measures the step time.

The change must not need an edit of the script.
"""

from __future__ import annotations

from collections.abc import Callable

from ..doctor_json import AppliedJson
from ..phrases import count_text
from ..probe.facts import AppliedFacts
from ..verdict.changes import Change
from ..verdict.straggler import judge_ranks
from ..verdict.verdict import Verdict
from .command import CommandResult


def apply_change(
    verdict: Verdict, wanted: int | str, run: Callable[[str, str, str], CommandResult]
) -> None:
    """Tries a change and stores the outcome in `verdict.applied`.

    `wanted` is a result of parse_change(). `run` is called with values for Settings.apply, .apply_to
    and .apply_at.
    """
    verdict.applied = _applied(verdict, wanted, run)


def _applied(
    verdict: Verdict, wanted: int | str, run: Callable[[str, str, str], CommandResult]
) -> AppliedJson:
    number, change = _find(verdict, wanted)
    out: AppliedJson = {
        "number": number,
        "apply": change.apply if change else "",
        "what": change.what if change else "",
        "done": False,
        "text": "",
        "predicted_s": change.predicted_s if change else None,
        "measured_s": None,
        "difference": None,  # relative difference between the measured and the predicted step time
        "at_best": bool(change and change.at_best),
        "sentence": "",
    }
    if change is None:
        count = len(verdict.changes)
        return {**out, "text": f"the list has {count_text(count, 'change')}"}
    if not change.apply:
        return {**out, "text": f"the change needs an edit: {change.how}"}
    if verdict.figures is None:
        return {**out, "text": "no step to compare with"}
    loader = verdict.facts.loader
    dataset = (loader.dataset if loader else None) or ""
    ended = run(change.apply, dataset, ",".join(verdict.facts.origins))
    trained = [facts for facts in ended.facts if facts.steps]
    again = judge_ranks(trained) if trained else None
    if again is None or again.figures is None:
        return {**out, "text": f"the second run had no steps and ended with {ended.code}"}
    unseen = AppliedFacts(False, "the watch did not observe it")
    outcomes = [facts.applied or unseen for facts in (again.facts, *trained)]
    tried = next((outcome for outcome in outcomes if not outcome.done), outcomes[0])
    if not tried.done:  # if one rank fails, the run fails, because the other ranks wait for it
        return {**out, "text": tried.text}
    measured = again.figures.step_s
    out |= {"done": True, "text": tried.text, "measured_s": measured, "sentence": again.sentence}
    if change.predicted_s:
        out["difference"] = measured / change.predicted_s - 1
    return out


def _find(verdict: Verdict, wanted: int | str) -> tuple[int | None, Change | None]:
    """Returns the number of the change, and the change.

    A change given by value may not be in the verdict's list. It then has no number and no prediction.
    """
    for number, change in enumerate(verdict.changes, 1):
        if wanted in (number, change.apply):
            return number, change
    if isinstance(wanted, int):
        return wanted, None
    return None, Change(wanted, "", None, apply=wanted)
