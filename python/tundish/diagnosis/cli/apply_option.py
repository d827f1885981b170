"""The value of --apply: the number of a change in this run's list, or the change itself."""

from __future__ import annotations

import os
import re

from ..._c.errors import ArgumentError

KINDS = "workers=N, accelerate or plan=FILE"


def change_of(text: str) -> int | str:
    """Returns the number, or what Settings.apply takes. Raises ArgumentError."""
    if re.fullmatch(r"[+-]?\d+", text):
        if int(text) < 1:
            raise ArgumentError(f"--apply {text}: changes are numbered from 1")
        return int(text)
    name, _, value = text.partition("=")
    if name == "workers" and re.fullmatch(r"\d{1,4}", value) and int(value) > 0:
        return f"workers={int(value)}"
    if name == "plan" and value:
        if not os.path.isfile(value):
            raise ArgumentError(f"--apply {text}: there is no such file")
        return f"plan={os.path.abspath(value)}"
    if text == "accelerate":
        return text
    raise ArgumentError(f"--apply {text}: it is the number of a change, or {KINDS}")


def plan_of(apply: int | str) -> str:
    """Returns the file if the change is a plan of tundish tune, otherwise ""."""
    name, _, value = str(apply).partition("=")
    return value if name == "plan" else ""
