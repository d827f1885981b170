"""Reads the code cells of a Jupyter notebook as one script."""

from __future__ import annotations

import json
import re
from typing import Any

from .source_text import SourceRefused, SourceText, check_size, decode, parse, split_lines

# Cell magics that run the rest of their cell as Python code in the notebook's process.
_PYTHON_MAGICS = {"%%time", "%%timeit", "%%capture", "%%prun", "%%memit", "%%debug", "%%snakeviz"}
_ASKED = re.compile(r"[\w.]+\?\??\s*")
_ASSIGNED = re.compile(r"([\w.,\s]+=\s*)[!%]")


def read_notebook(path: str, data: bytes) -> SourceText:
    """Joins the cells in order into one module. Replaces cells that are not Python by blank lines.

    Raises SourceRefused.
    """
    check_size(data)
    lines: list[str] = []
    cells: list[tuple[int, int]] = []
    for number, text in enumerate(_code_cells(decode(data)), 1):
        own = _python_lines(split_lines(text))
        lines += own
        cells += [(number, line) for line in range(1, len(own) + 1)]
    return SourceText(path, lines, parse("\n".join(lines)), cells)


def _code_cells(text: str) -> list[str]:
    fix = "open it with Jupyter and save it again"
    try:
        notebook: Any = json.loads(text)
    except ValueError as error:
        raise SourceRefused(f"not JSON: {error}", fix) from None
    except RecursionError:
        raise SourceRefused("not a notebook: nested too deeply", fix) from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise SourceRefused("not a notebook: it has no list of cells", fix)
    found = []
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            if isinstance(source, list):
                source = "".join(part for part in source if isinstance(part, str))
            found.append(source if isinstance(source, str) and "\0" not in source else "")
    return found


def _python_lines(lines: list[str]) -> list[str]:
    """Returns the Python code of a cell, without IPython commands. Other cells become blank lines."""
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    magic = lines[first].split()[0] if lines[first].strip() else ""
    if magic in _PYTHON_MAGICS:
        lines = [*[""] * (first + 1), *lines[first + 1 :]]
    elif magic.startswith("%%"):
        return [""] * len(lines)
    # A % may also begin a line inside an expression or a string; the cell is then valid Python.
    if _parses("\n".join(lines)):
        return lines
    lines = _without_commands(lines)
    return lines if _parses("\n".join(lines)) else [""] * len(lines)


def _without_commands(lines: list[str]) -> list[str]:
    """Replaces IPython commands (`%timeit x`, `!pip install y`, `files = !ls`, `model?`)."""
    out: list[str] = []
    continues = False  # whether the previous line is a command that ends with a backslash
    for line in lines:
        stripped = line.lstrip()
        indent = line[: len(line) - len(stripped)]
        assigned = _ASSIGNED.match(stripped)
        is_command = stripped.startswith(("%", "!", "?"))
        if continues:
            out.append("")
        elif is_command or _ASKED.fullmatch(stripped):
            out.append(f"{indent}pass")
        elif assigned:
            out.append(f"{indent}{assigned[1]}get_ipython()")
        else:
            out.append(line)
        continues = (continues or is_command or bool(assigned)) and line.endswith("\\")
    return out


def _parses(text: str) -> bool:
    try:
        parse(text)
    except SourceRefused:
        return False
    return True
