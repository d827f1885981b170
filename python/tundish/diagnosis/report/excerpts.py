"""Adds lines of the user's code to findings."""

from __future__ import annotations

import linecache
from typing import Any

AROUND = 2
LONGEST = 160


def add_excerpts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds "code": [[number, text], ...] to each row with "file" and "line". Empty without a file."""
    return [{**row, "code": excerpt(str(row["file"]), int(row["line"]))} for row in rows]


def excerpt(file: str, line: int) -> list[list[Any]]:
    """Returns the lines around `line`. Notebook cells are found in linecache."""
    texts = linecache.getlines(file) if file else []
    first, last = max(1, line - AROUND), min(len(texts), line + AROUND)
    return [[n, texts[n - 1].rstrip("\n")[:LONGEST]] for n in range(first, last + 1)]
