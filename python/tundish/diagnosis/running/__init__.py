"""Checks that need the running script, one file each. A new check is a new file, and nothing else."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from .check import RunningCheck

_NAMES = [one.name for one in pkgutil.iter_modules(__path__) if one.name != "check"]
_FOUND = [importlib.import_module(f"{__name__}.{name}").CHECK for name in _NAMES]
CHECKS: dict[str, RunningCheck] = {check.id: check for check in sorted(_FOUND, key=lambda c: c.id)}


def findings_of_run(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What the checks find in the facts of one process, as the doctor's JSON has it."""
    if not facts.get("observed"):
        return []
    return [
        {
            "file": one.file,
            "line": one.line,
            "check": check.id,
            "level": check.level,
            "text": one.text,
            "remedy": one.remedy,
            "page": check.page,
        }
        for check in CHECKS.values()
        for one in check.find(facts)
    ]
