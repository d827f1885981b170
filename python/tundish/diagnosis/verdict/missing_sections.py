"""Notes on requested sections that are missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MISSING_TEXTS = {
    "timeline": "no timeline was written",
    "functions": "the table of functions is missing",
    "memory": "the memory of a step is missing",
}


def missing_notes(asked: Iterable[str], facts: dict[str, Any], ended: str) -> list[str]:
    """Returns a note for each missing section.

    `asked`: phases of recorders (probe/recorders.py). `ended`: what ended too early, such as "the
    script".
    """
    recorded, failed = facts.get("recorded") or {}, facts.get("record_failed") or {}
    out = [f"{name}: recording failed: {why}" for name, why in failed.items()]
    if facts.get("failed"):
        out.append(f"the watch failed, and the script ran on unwatched: {facts['failed']}")
    for name in asked:
        values = recorded.get(name)
        if name not in failed and not (values and values.get("steps", 1)):
            out.append(
                f"{_MISSING_TEXTS[name]}: {ended} ended before a step was recorded; recording follows "
                "the measured steps"
            )
    return out
