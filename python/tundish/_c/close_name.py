"""Suggests a known name for a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable


def close_name(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name with the most similar spelling, ignoring case, or None if none is similar."""
    import difflib  # imported here because it takes 1.5 ms and only errors need it

    small = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), small, 1, 0.75)
    return small[found[0]] if found else None
