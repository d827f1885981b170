"""Reads the lines of the user's code around a finding."""

from __future__ import annotations

import linecache

from ..doctor_json import Code

AROUND = 2
LONGEST = 160


def excerpt(file: str, line: int) -> Code:
    """Returns the lines around `line`. Reads notebook cells from linecache."""
    texts = linecache.getlines(file) if file else []
    first, last = max(1, line - AROUND), min(len(texts), line + AROUND)
    return [[n, texts[n - 1].rstrip("\n")[:LONGEST]] for n in range(first, last + 1)]
