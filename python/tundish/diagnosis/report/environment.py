"""Adds the findings of `tundish env` to the report."""

from __future__ import annotations

import json
import subprocess
from typing import cast

from ..._c.errors import MissingError
from ...program import find_program
from ..doctor_json import EnvironmentJson

MOST_S = 30.0
_KEYS = ("area", "name", "level", "figure", "reason", "fix")


def environment() -> list[EnvironmentJson]:
    """Returns the findings of `tundish env`. Returns an empty list if the program is missing or fails.

    The report is then written without this section.
    """
    try:
        line = [find_program(), "env", "--json"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=MOST_S)
        found = json.loads(done.stdout)["findings"]
        return [
            cast(EnvironmentJson, {key: str(finding[key]) for key in _KEYS}) for finding in found
        ]
    except (MissingError, OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return []
