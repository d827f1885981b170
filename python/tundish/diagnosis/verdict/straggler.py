"""The verdict on several ranks of one run: is one of them slow, so that the others wait for it?

All ranks take the same time for a step, because they wait for each other where gradients are averaged. The
slow one is the one that does not wait; what it does longer than the others is the reason.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from .cause import Cause, cause_of_loading
from .changes import Change
from .figures import PARTS, Figures
from .line_costs import line_of
from .verdict import Verdict, judge, loading_words, percent_text

NAMED = 0.15  # of the step: what the others lose
_WORK = tuple(part for part in PARTS if part != "communication")
_WORDS = {
    "copy": "its copies to the GPU",
    "forward": "its forward pass",
    "backward": "its backward pass",
    "optimizer": "its optimizer",
    "zero_grad": "clearing its gradients",
}


def judge_ranks(all_facts: list[dict[str, Any]]) -> Verdict:
    """Of one run, in the order of the ranks. The verdict is the slow rank's, otherwise the first one's."""
    verdicts = [judge(facts) for facts in all_facts]
    trained = [one for one in verdicts if one.figures is not None]
    if len(trained) < 2 or not all(one.facts.get("world", 1) > 1 for one in trained):
        return verdicts[0]
    waits = [_waiting(one, trained) for one in trained]
    slow = min(range(len(trained)), key=lambda index: waits[index])
    verdict, found = trained[slow], trained[slow].figures
    assert found is not None
    others = [one.figures for index, one in enumerate(trained) if index != slow and one.figures]
    lost = median(wait for index, wait in enumerate(waits) if index != slow) - waits[slow]
    rows = [
        {"rank": one.facts["rank"], "step_s": one.figures.step_s, "waits_s": wait}
        for one, wait in zip(trained, waits)
        if one.figures
    ]
    if lost < NAMED * found.step_s:
        verdict = trained[0]
    else:
        _blame(verdict, found, others, lost)
    verdict.ranks = rows
    return verdict


def _waiting(verdict: Verdict, trained: list[Verdict]) -> float:
    """Seconds of a step. On GPUs the wait is inside backward: what it takes longer than in the fastest rank."""
    found = verdict.figures
    assert found is not None
    if found.clock == "gpu":
        least = min(one.figures.parts["backward"] for one in trained if one.figures)
        return found.parts["communication"] + found.parts["backward"] - least
    return found.parts["communication"]


def _blame(verdict: Verdict, found: Figures, others: list[Figures], lost: float) -> None:
    """Turns the verdict of the slow rank into one that names it."""
    facts = verdict.facts
    longer = {part: found.parts[part] - median(one.parts[part] for one in others) for part in _WORK}
    part = max(longer, key=lambda one: longer[one])
    if part == "data":
        own = cause_of_loading(facts, found, verdict.loading, found.share("data"))
        why = f"waiting for data, {loading_words(facts, own)}"
    elif part == "other":
        line = line_of(facts, "other")
        why = f"host code outside the model{f', {line}' if line else ''}"
    else:
        why = _WORDS[part]
    rank, share = facts["rank"], lost / found.step_s
    count = len(others)
    rest = "the other rank wait" if count == 1 else f"the {count} other ranks wait"
    verdict.cause = Cause("straggler", share, f"rank {rank}: {why}")
    verdict.sentence = f"Rank {rank} makes {rest} {percent_text(share)} of every step: {why}."
    verdict.changes.insert(
        0,
        Change(
            f"rank {rank} as fast as the others ({why})",
            "the same data, storage, CPUs and clocks for every rank",
            found.step_s - lost,
        ),
    )
