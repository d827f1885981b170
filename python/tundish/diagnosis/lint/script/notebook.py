"""Reads the code cells of a Jupyter notebook as one script."""

from __future__ import annotations

import json
from typing import Any

from .source_text import Refused, Source, check_size, decode, parse, split_lines


def read_notebook(path: str, data: bytes) -> Source:
    """Joins the cells in order into one module. Cells that are not Python are blanked.

    Raises Refused.
    """
    check_size(data)
    lines: list[str] = []
    cells: list[tuple[int, int]] = []
    for number, text in enumerate(_code_cells(decode(data)), 1):
        own = [_without_magic(line) for line in split_lines(text)]
        if text.lstrip().startswith("%%") or not _parses("\n".join(own)):
            own = [""] * len(own)
        lines += own
        cells += [(number, line) for line in range(1, len(own) + 1)]
    return Source(path, lines, parse("\n".join(lines)), cells)


def _code_cells(text: str) -> list[str]:
    fix = "open it with Jupyter and save it again"
    try:
        notebook: Any = json.loads(text)
    except ValueError as error:
        raise Refused(f"not JSON: {error}", fix) from None
    except RecursionError:
        raise Refused("not a notebook: nested too deeply", fix) from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise Refused("not a notebook: it has no list of cells", fix)
    found = []
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            if isinstance(source, list):
                source = "".join(part for part in source if isinstance(part, str))
            found.append(source if isinstance(source, str) and "\0" not in source else "")
    return found


def _without_magic(line: str) -> str:
    """Replaces an IPython command (`%timeit x`, `!pip install y`) by `pass`."""
    stripped = line.lstrip()
    if stripped.startswith(("%", "!", "?")):
        return line[: len(line) - len(stripped)] + "pass"
    return line


def _parses(text: str) -> bool:
    try:
        parse(text)
    except Refused:
        return False
    return True
