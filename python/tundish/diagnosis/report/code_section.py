"""Formats lines of code for the report, with the relevant line in bold."""

from __future__ import annotations

from html import escape

from ..doctor_json import FindingWithCodeJson, LineJson


def code_block(row: FindingWithCodeJson | LineJson, text: str, fix: str = "") -> str:
    """Returns HTML for the code around the line that `row` names."""
    place = f"{row['file'].rpartition('/')[2]}:{row['line']}" if row["file"] else "the run"
    lines = []
    for number, code in row["code"]:
        shown = f"{number:>5}  {escape(code)}"
        lines.append(f"<b>{shown}</b>" if number == row["line"] else shown)
    out = f"<h3>{escape(place)}</h3>\n<p>{escape(text)}</p>\n"
    if lines:
        out += "<pre tabindex='0'>" + "\n".join(lines) + "</pre>\n"
    return out + (f"<p class='soft'>{escape(fix)}</p>\n" if fix else "")
