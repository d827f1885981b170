"""Phrases shared by the verdict, its changes and its text."""

from __future__ import annotations

import os

from .doctor_json import AppliedJson


def count_text(count: int, noun: str, ending: str = "s") -> str:
    """Returns a count and its noun: 1 step, 2 steps, 3 worker processes."""
    return f"{count} {noun}{'' if count == 1 else ending}"


def shown_path(file: str) -> str:
    """Returns a path relative to the current folder if the file is below it. The folder may be gone."""
    try:
        return file.removeprefix(os.getcwd() + os.sep)
    except OSError:
        return file


def real_path(file: str) -> str:
    """Returns the path without links, or unchanged if it is relative to a folder that was removed."""
    try:
        return os.path.realpath(file)
    except OSError:
        return file


def applied_name(applied: AppliedJson) -> str:
    """Returns the name of the change in the text: its number, or its value if it is not listed."""
    return str(applied["number"] or applied["apply"])
