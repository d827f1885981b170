"""Detects generated files. Their generator should be edited, not the files."""

from __future__ import annotations

_LINES = 30  # lines at the top of a file
_WARNINGS = ("do not edit", "don't edit", "do not modify", "not be edited")


def is_generated(lines: list[str]) -> bool:
    """Returns whether comments at the top of the file mark it as generated."""
    comments = [line for line in lines[:_LINES] if line.lstrip().startswith("#")]
    head = " ".join("\n".join(comments).replace("#", " ").lower().split())
    return "generated" in head and any(warning in head for warning in _WARNINGS)
