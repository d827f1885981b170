"""Phrases shared by the verdict, its changes and its text."""

from __future__ import annotations

import os

from .doctor_json import AppliedJson


def count_text(count: int, noun: str, ending: str = "s") -> str:
    """Returns a count with its noun, such as "1 step", "2 steps" or "3 worker processes"."""
    return f"{count} {noun}{'' if count == 1 else ending}"


def shown_path(file: str) -> str:
    """Returns a path relative to the current folder if the file is inside. The folder may be deleted."""
    try:
        return file.removeprefix(os.getcwd() + os.sep)
    except OSError:
        return file


def real_path(file: str) -> str:
    """Resolves symbolic links in a path. Returns the path unchanged if the current folder is deleted."""
    try:
        return os.path.realpath(file)
    except OSError:
        return file


def applied_name(applied: AppliedJson) -> str:
    """Returns how the report names the change: by its number, or by its value if it is not listed."""
    return str(applied["number"] or applied["apply"])
