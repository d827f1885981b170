"""Notes on requested sections that are missing."""

from __future__ import annotations

from collections.abc import Iterable

from ..probe.facts import Facts

_MISSING_TEXTS = {
    "timeline": "no timeline was written",
    "functions": "the table of functions is missing",
    "memory": "the memory of a step is missing",
}


def missing_notes(asked: Iterable[str], facts: Facts, ended: str) -> list[str]:
    """Returns a note for each missing section.

    `asked`: phases of recorders (probe/recorders.py). `ended`: what ended too early, such as "the
    script".
    """
    recorded = facts.recorded
    out = [f"{name}: recording failed: {why}" for name, why in recorded.failed.items()]
    if facts.failed:
        out.append(f"the watch failed, and the script ran on unwatched: {facts.failed}")
    for name in asked:
        if name not in recorded.failed and not recorded.steps_in(name):
            out.append(
                f"{_MISSING_TEXTS[name]}: {ended} ended before a step was recorded; recording follows "
                "the measured steps"
            )
    return out
