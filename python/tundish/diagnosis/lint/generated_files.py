"""Finds files that a program wrote. An edit belongs into their source, not into them."""

from __future__ import annotations

_LINES = 30  # the head of a file
_KEEP_OUT = ("do not edit", "don't edit", "do not modify", "not be edited")


def is_generated(lines: list[str]) -> bool:
    """Whether comments at the head say that the file is generated and must not be edited."""
    comments = [line for line in lines[:_LINES] if line.lstrip().startswith("#")]
    head = " ".join("\n".join(comments).replace("#", " ").lower().split())
    return "generated" in head and any(words in head for words in _KEEP_OUT)
