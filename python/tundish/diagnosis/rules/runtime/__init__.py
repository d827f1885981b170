"""Checks that need a running script. Each file is one check; to add a check, add a file."""

from __future__ import annotations

from ...doctor_json import FindingJson
from ...probe.facts import Facts
from .. import load_rules
from .runtime_rule import RuntimeRule

RULES: dict[str, RuntimeRule] = load_rules(__name__)


def check_run(facts: Facts) -> list[FindingJson]:
    """Returns the findings of the runtime checks for one process, in the format of the doctor's JSON."""
    if facts.observed is None:
        return []
    return [
        {
            "file": finding.file,
            "line": finding.line,
            "check": check.id,
            "level": check.level,
            "text": finding.text,
            "fix": finding.fix,
            "page": check.page,
            "seconds": None,
        }
        for check in RULES.values()
        for finding in check.find(facts, facts.observed)
    ]
