"""What `tundish check` finds in the text of the script that the doctor runs."""

from __future__ import annotations

import os
from typing import Any

from ..._c.errors import ArgumentError
from ..checking.check import check

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
