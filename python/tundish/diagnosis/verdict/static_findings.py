"""Adds findings of `tundish check` to the verdict, with the measured cost of their lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..._c.errors import ArgumentError
from ..doctor_json import FindingJson
from ..lint.check import check
from ..phrases import count_text, real_path, shown_path
from ..rules.static import RULES
from .line_costs import line_costs

if TYPE_CHECKING:
    from ..lint.finding import Finding
    from .verdict import Verdict

MOST_FILES = 5


def script_findings(command: list[str], loop: list[str]) -> list[FindingJson]:
    """Returns the findings for the command's script, and for the user's files that run the loop.

    Omits notes.
    """
    found: list[Finding] = []
    for file in _files(command, loop):
        try:
            found += check(file).findings
        except (ArgumentError, OSError):
            continue
    return [
        {
            "file": finding.file,
            "line": finding.line,
            "check": finding.check,
            "level": finding.level,
            "text": finding.text,
            "fix": finding.fix,
            "page": finding.page,
            "seconds": None,
        }
        for finding in found
        if finding.level in ("error", "warning")
    ]


def _files(command: list[str], loop: list[str]) -> list[str]:
    """Returns each file once, relative to the working folder if possible."""
    wanted = [_script(command), *map(shown_path, loop)]
    files = {real_path(file): file for file in reversed(wanted) if file and os.path.isfile(file)}
    return list(reversed(files.values()))[:MOST_FILES]


def _script(command: list[str]) -> str:
    """Returns the first Python file in the command, or the file for `-m MODULE`; "" if there is none."""
    for number, argument in enumerate(command):
        if argument.endswith(".py") and os.path.isfile(argument):
            return argument
        if argument == "-m" and number + 1 < len(command):
            path = command[number + 1].replace(".", os.sep)
            for file in (f"{path}.py", os.path.join(path, "__main__.py")):
                if os.path.isfile(file):
                    return file
    return ""


def _for_this_run(findings: list[FindingJson], verdict: Verdict) -> list[FindingJson]:
    """Adapts findings to this run.

    If the run used no GPU, omits findings that only cost time on a GPU, and adds a note. In suggestions,
    the number of workers is the number that the verdict proposes, or the number of CPUs.
    """
    facts = verdict.facts
    if facts.torch and not facts.torch.gpu:
        every = len(findings)
        findings = [
            finding for finding in findings if not _is_only_for_gpus(finding.get("check", ""))
        ]
        if len(findings) < every:
            count = count_text(every - len(findings), "finding")
            verdict.notes.append(
                f"{count} of tundish check omitted: relevant only on a GPU, and this run had none"
            )
    proposed = [
        change.apply.partition("=")[2] for change in verdict.changes if "workers=" in change.apply
    ]
    workers = proposed[0] if proposed else str(min(4, facts.cpus))
    return [
        {**finding, "fix": finding["fix"].replace("num_workers=4", f"num_workers={workers}")}
        for finding in findings
    ]


def _with_seconds(finding: FindingJson, seconds: float | None) -> FindingJson:
    out = finding.copy()
    out["seconds"] = seconds
    return out


def _is_only_for_gpus(name: str) -> bool:
    return name in RULES and RULES[name].only_gpu


def with_costs(findings: list[FindingJson], verdict: Verdict) -> list[FindingJson]:
    """Adds "seconds" per step to findings whose lines have enough samples.

    Sorts the findings by cost, most expensive first.
    """
    costs: dict[tuple[str, int], float] = {}
    if verdict.figures is not None:
        for (file, line, _), cost in line_costs(verdict.facts, verdict.figures).items():
            if cost.seconds is not None:
                place = (real_path(file), line)
                costs[place] = costs.get(place, 0.0) + cost.seconds
    out = []
    for finding in _for_this_run(findings, verdict):
        file = finding["file"]
        seconds = costs.get((real_path(file), finding["line"])) if file else None
        known = finding.get("seconds") if seconds is None else seconds
        out.append(_with_seconds(finding, known))
    return sorted(out, key=lambda finding: -(finding["seconds"] or 0.0))
