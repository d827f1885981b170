"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def close_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled almost so, in whatever letters."""
    small = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), small, 1, 0.75)
    return small[found[0]] if found else None
