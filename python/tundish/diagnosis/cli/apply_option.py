"""Parses the value of `tundish doctor --apply`: a change, or its number in the list of changes."""

from __future__ import annotations

import os
import re

from ..._c.errors import ArgumentError

KINDS = "workers=N, accelerate or plan=FILE"


def parse_change(text: str) -> int | str:
    """Returns the number of the change, or a value for Settings.apply.

    Raises ArgumentError for an invalid value.
    """
    if re.fullmatch(r"[+-]?\d+", text):
        if int(text) < 1:
            raise ArgumentError(f"--apply {text}: changes are numbered from 1")
        return int(text)
    name, _, value = text.partition("=")
    if name == "workers" and re.fullmatch(r"\d{1,4}", value) and int(value) > 0:
        return f"workers={int(value)}"
    if name == "plan" and value:
        if not os.path.isfile(value):
            raise ArgumentError(f"--apply {text}: no such file")
        return f"plan={os.path.abspath(value)}"
    if text == "accelerate":
        return text
    raise ArgumentError(f"--apply {text}: expected the number of a change, or {KINDS}")


def plan_file(apply: int | str) -> str:
    """Returns the name of the plan file if the change is a plan of `tundish tune`, otherwise ""."""
    name, _, value = str(apply).partition("=")
    return value if name == "plan" else ""
