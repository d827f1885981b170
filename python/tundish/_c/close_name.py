"""Suggests a known name for a misspelled one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def close_name(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name with the most similar spelling, ignoring case, or None."""
    small = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), small, 1, 0.75)
    return small[found[0]] if found else None
