"""Phrases shared by the verdict, its changes and its text."""

from __future__ import annotations


def count_text(count: int, noun: str, ending: str = "s") -> str:
    """Returns a count and its noun: 1 step, 2 steps, 3 worker processes."""
    return f"{count} {noun}{'' if count == 1 else ending}"
