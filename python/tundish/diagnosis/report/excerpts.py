"""Lines of the user's code beside what is said of them."""

from __future__ import annotations

import linecache
from typing import Any

AROUND = 2
LONGEST = 160


def add_excerpts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row has "file" and "line", and gets "code": [[number, text], ...], empty where there is no file."""
    return [{**row, "code": excerpt(str(row["file"]), int(row["line"]))} for row in rows]


def excerpt(file: str, line: int) -> list[list[Any]]:
    """Also of a notebook's cell, which is in the cache of lines."""
    texts = linecache.getlines(file) if file else []
    first, last = max(1, line - AROUND), min(len(texts), line + AROUND)
    return [[n, texts[n - 1].rstrip("\n")[:LONGEST]] for n in range(first, last + 1)]
