"""What `tundish env` says of the machine, for the report."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from ..._c.errors import MissingError
from ...program import find_program

MOST_S = 30.0
_KEYS = ("area", "name", "level", "figure", "reason", "fix")


def environment() -> list[dict[str, Any]]:
    """Its findings; none where the program is missing or fails: a report without them is better than none."""
    try:
        line = [find_program(), "env", "--json"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=MOST_S)
        found = json.loads(done.stdout)["findings"]
        return [{key: str(one[key]) for key in _KEYS} for one in found]
    except (MissingError, OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return []
