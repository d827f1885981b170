"""Unified diffs that `git apply` and `patch -p1` take, byte for byte."""

from __future__ import annotations

import difflib


def file_diff(name: str, old: bytes, new: bytes) -> str:
    """Returns the diff of a file. Bytes that are not UTF-8 become surrogates.

    `name`: path below the folder where the diff is applied.
    """
    before, after = _lines(old), _lines(new)
    parts = [f"diff --git {_quoted('a/' + name)} {_quoted('b/' + name)}\n"]
    for line in difflib.unified_diff(before, after, n=3):
        if line.startswith("--- ") and len(parts) == 1:
            parts.append(f"--- {_header('a/' + name)}\n")
        elif line.startswith("+++ ") and len(parts) == 2:
            parts.append(f"+++ {_header('b/' + name)}\n")
        elif line.endswith("\n"):
            parts.append(line)
        else:
            parts.append(line + "\n\\ No newline at end of file\n")
    return "".join(parts) if len(parts) > 1 else ""


def count_changed_lines(diff: str) -> int:
    """Returns the number of added and removed lines, without the headers of the files."""
    count, inside = 0, False
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            inside = False
        elif line.startswith("@@ "):
            inside = True
        elif inside and line.startswith(("+", "-")):
            count += 1
    return count


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _quoted(name: str) -> str:
    """Writes a name as git does: with octal escapes if it has unusual bytes."""
    data = name.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in data):
        return name
    escaped = "".join(
        f"\\{chr(byte)}"
        if byte in b'"\\'
        else chr(byte)
        if 0x20 <= byte < 0x7F
        else f"\\{byte:03o}"
        for byte in data
    )
    return f'"{escaped}"'


def _header(name: str) -> str:
    """A name with spaces ends with a tab, because a date may follow."""
    quoted = _quoted(name)
    return quoted + "\t" if " " in quoted and not quoted.startswith('"') else quoted
