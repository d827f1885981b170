"""What `tundish check` finds in the text of the script that the doctor runs, with the measured cost of its lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..._c.errors import ArgumentError
from ..lint.check import check
from ..rules.static import CHECKS
from .line_costs import line_costs
from .phrases import count_text, real_path, shown_path

if TYPE_CHECKING:
    from ..lint.finding import Finding
    from .verdict import Verdict

_KEYS = ("file", "line", "check", "level", "text", "remedy", "page")


MOST_FILES = 5


def findings_of(command: list[str], loop: list[str]) -> list[dict[str, Any]]:
    """Of the script that the command names, and of the user's files that the loop is in; notes are left out."""
    found: list[Finding] = []
    for file in _files(command, loop):
        try:
            found += check(file).findings
        except (ArgumentError, OSError):
            continue
    return [
        {key: getattr(one, key) for key in _KEYS}
        for one in found
        if one.level in ("error", "warning")
    ]


def _files(command: list[str], loop: list[str]) -> list[str]:
    """Each once, by a path that is relative to this folder where the file is below it."""
    wanted = [_script(command), *map(shown_path, loop)]
    files = {real_path(one): one for one in reversed(wanted) if one and os.path.isfile(one)}
    return list(reversed(files.values()))[:MOST_FILES]


def _script(command: list[str]) -> str:
    """The first word that is a Python file, or the file of `-m MODULE`; empty where there is none."""
    for number, word in enumerate(command):
        if word.endswith(".py") and os.path.isfile(word):
            return word
        if word == "-m" and number + 1 < len(command):
            path = command[number + 1].replace(".", os.sep)
            for file in (f"{path}.py", os.path.join(path, "__main__.py")):
                if os.path.isfile(file):
                    return file
    return ""


def _for_this_run(findings: list[dict[str, Any]], verdict: Verdict) -> list[dict[str, Any]]:
    """Without what costs time on a GPU only, where the run had none (a note says how many); workers as many as the
    verdict proposes, or as there are CPUs."""
    facts = verdict.facts
    if facts.get("torch") and not facts["torch"]["gpu"]:
        every = len(findings)
        findings = [one for one in findings if not _is_only_for_gpus(one.get("check", ""))]
        if len(findings) < every:
            count = count_text(every - len(findings), "finding")
            verdict.notes.append(
                f"{count} of tundish check left out: they cost time on a GPU, and this run had none"
            )
    proposed = [one.apply.partition("=")[2] for one in verdict.changes if "workers=" in one.apply]
    workers = proposed[0] if proposed else str(min(4, facts.get("cpus", 4)))
    return [
        {**one, "remedy": one["remedy"].replace("num_workers=4", f"num_workers={workers}")}
        for one in findings
    ]


def _is_only_for_gpus(name: str) -> bool:
    return name in CHECKS and CHECKS[name].only_gpu


def with_costs(findings: list[dict[str, Any]], verdict: Verdict) -> list[dict[str, Any]]:
    """Each gets "seconds" of a step, where enough samples of the profiled steps hit its line (lines.py); dearest first."""
    costs: dict[tuple[str, int], float] = {}
    if verdict.figures is not None:
        for (file, line, _), cost in line_costs(verdict.facts, verdict.figures).items():
            if cost.seconds is not None:
                place = (real_path(file), line)
                costs[place] = costs.get(place, 0.0) + cost.seconds
    out = []
    for one in _for_this_run(findings, verdict):
        seconds = costs.get((real_path(one["file"]), one["line"])) if one["file"] else None
        out.append({**one, "seconds": one.get("seconds") if seconds is None else seconds})
    return sorted(out, key=lambda one: -(one["seconds"] or 0.0))
