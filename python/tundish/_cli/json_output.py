"""Formats and prints JSON: indented, with null in place of NaN and infinity."""

from __future__ import annotations

import json
import math
from typing import Any

from .terminal import write_stdout


def json_text(values: Any, indent: int | None = 2) -> str:
    """Returns `values` as JSON with a trailing newline. NaN and infinity become null.

    `indent`: None puts everything on one line.
    """
    return json.dumps(_finite(values), indent=indent, allow_nan=False) + "\n"


def print_json(values: Any) -> None:
    """Prints `values` as JSON on stdout. Raises StdoutError."""
    write_stdout(json_text(values))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
