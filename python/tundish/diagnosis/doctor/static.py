"""What `tundish check` finds in the text of the script that the doctor runs, with the measured cost of its lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..._c.errors import ArgumentError
from ..checking.check import check

if TYPE_CHECKING:
    from .verdict import Verdict

_KEYS = ("file", "line", "check", "level", "text", "remedy", "page")


def findings_of(command: list[str]) -> list[dict[str, Any]]:
    """Of the first word that is a Python file; notes are left out."""
    script = next((one for one in command if one.endswith(".py") and os.path.isfile(one)), None)
    if script is None:
        return []
    try:
        found = check(script).findings
    except (ArgumentError, OSError):
        return []
    return [
        {key: getattr(one, key) for key in _KEYS}
        for one in found
        if one.level in ("error", "warning")
    ]


def with_costs(findings: list[dict[str, Any]], verdict: Verdict) -> list[dict[str, Any]]:
    """Each gets "seconds" of a step, where samples of the profiled steps hit the line of a finding; dearest first."""
    step = verdict.figures.step_s if verdict.figures else 0.0
    shares: dict[tuple[str, int], float] = {}
    for one in verdict.facts.get("lines", []):
        place = (os.path.realpath(one["file"]), one["line"])
        shares[place] = shares.get(place, 0.0) + one["share"]
    out = []
    for one in findings:
        share = shares.get((os.path.realpath(one["file"]), one["line"])) if one["file"] else None
        out.append({**one, "seconds": None if share is None else share * step})
    return sorted(out, key=lambda one: -(one["seconds"] or 0.0))
