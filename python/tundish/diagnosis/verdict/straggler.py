"""Finds a straggler: a slow rank that the other ranks of a run wait for.

All ranks take the same time per step, because they wait for each other when gradients are averaged.
The straggler is the rank that does not wait. It is slow because of the part of the step in which it
takes longer than the other ranks.
"""

from __future__ import annotations

from statistics import median

from ..doctor_json import RankJson
from ..probe.facts import Facts
from .cause import Cause, loading_cause
from .changes import Change
from .figures import PARTS, Figures
from .line_costs import longest_line
from .verdict import Verdict, judge, loading_reason, percent_text

NAMED = 0.15  # a rank is a straggler if the other ranks lose at least this fraction of the step
_WORK = tuple(part for part in PARTS if part != "communication")
_PART_TEXTS = {
    "copy": "its copies to the GPU",
    "forward": "its forward pass",
    "backward": "its backward pass",
    "optimizer": "its optimizer",
    "zero_grad": "clearing its gradients",
}


def judge_ranks(all_facts: list[Facts]) -> Verdict:
    """Returns the verdict on the straggler, or on the first rank if no rank is a straggler."""
    verdicts = [judge(facts) for facts in all_facts]
    trained = [verdict for verdict in verdicts if verdict.figures is not None]
    if len(trained) < 2 or not all(verdict.facts.world > 1 for verdict in trained):
        return verdicts[0]
    waits = [_waiting(verdict, trained) for verdict in trained]
    slow = min(range(len(trained)), key=lambda index: waits[index])
    verdict, found = trained[slow], trained[slow].figures
    assert found is not None
    others = [
        verdict.figures
        for index, verdict in enumerate(trained)
        if index != slow and verdict.figures
    ]
    lost = median(wait for index, wait in enumerate(waits) if index != slow) - waits[slow]
    rows: list[RankJson] = [
        {"rank": verdict.facts.rank, "step_s": verdict.figures.step_s, "waits_s": wait}
        for verdict, wait in zip(trained, waits)
        if verdict.figures
    ]
    if lost < NAMED * found.step_s:
        verdict = trained[0]
    else:
        _blame(verdict, found, others, lost)
    verdict.ranks = rows
    return verdict


def _waiting(verdict: Verdict, trained: list[Verdict]) -> float:
    """Returns the seconds per step that a rank waits for other ranks.

    On GPUs, ranks wait in backward(), so this includes the time beyond the fastest rank's backward().
    """
    found = verdict.figures
    assert found is not None
    if found.clock == "gpu":
        least = min(verdict.figures.parts["backward"] for verdict in trained if verdict.figures)
        return found.parts["communication"] + found.parts["backward"] - least
    return found.parts["communication"]


def _blame(verdict: Verdict, found: Figures, others: list[Figures], lost: float) -> None:
    """Rewrites the straggler's verdict so that it names the rank."""
    facts = verdict.facts
    longer = {
        part: found.parts[part] - median(figures.parts[part] for figures in others)
        for part in _WORK
    }
    part = max(longer, key=lambda name: longer[name])
    if part == "data":
        own = loading_cause(facts, found, verdict.loading, found.share("data"))
        why = f"waiting for data, {loading_reason(facts, own)}"
    elif part == "other":
        line = longest_line(facts, "other")
        why = f"host code outside the model{f', {line}' if line else ''}"
    else:
        why = _PART_TEXTS[part]
    rank, share = facts.rank, lost / found.step_s
    count = len(others)
    rest = "the other rank wait" if count == 1 else f"the {count} other ranks wait"
    verdict.cause = Cause("straggler", share, f"rank {rank}: {why}")
    verdict.sentence = f"Rank {rank} makes {rest} {percent_text(share)} of every step: {why}."
    verdict.changes.insert(
        0,
        Change(
            f"make rank {rank} as fast as the others ({why})",
            "use the same data, storage, CPUs and clocks for every rank",
            found.step_s - lost,
        ),
    )
