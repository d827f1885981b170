"""The report as people read it: place, what, code with a caret, why, remedy."""

from __future__ import annotations

from ..._cli.terminal import CYAN, RED, YELLOW, paint, printable
from ..rules.static import CHECKS
from .finding import Finding, Report
from .suppressions import unknown_check

_COLORS = {"error": RED, "warning": YELLOW, "note": CYAN}
_WIDTH = 100  # of an excerpt


def report_text(report: Report, color: bool = False) -> str:
    parts = [_finding_text(one, color) for one in report.findings]
    parts += [_unused(one.file, one.cell, one.line, one.ids) for one in report.unused_suppressions]
    return "\n".join([*parts, summary(report)])


def summary(report: Report) -> str:
    """`4 findings in 2 of 7 files (1 error, 3 warnings); 1 silenced by a comment`."""
    checked = report.files - len(report.not_checked)
    files = f"{checked} {'file' if checked == 1 else 'files'}"
    if not report.findings:
        text = f"nothing found in {files}"
    else:
        count = len(report.findings)
        hit = len({one.file for one in report.findings})
        levels = [
            f"{n} {level}{'' if n == 1 else 's'}"
            for level in _COLORS
            if (n := sum(one.level == level for one in report.findings))
        ]
        words = "finding" if count == 1 else "findings"
        text = f"{count} {words} in {hit} of {files} ({', '.join(levels)})"
    if report.suppressed:
        text += f"; {report.suppressed} silenced by a comment"
    if report.test_files:
        one = report.test_files == 1
        text += f"; {report.test_files} {'is a unit test' if one else 'are unit tests'}, checked for errors only"
    if report.generated_files:
        verb = "is" if report.generated_files == 1 else "are"
        text += f"; {report.generated_files} {verb} generated, checked for errors only"
    if report.not_checked:
        text += f"; {len(report.not_checked)} not checked"
    return text + "\n"


def _finding_text(one: Finding, color: bool) -> str:
    level = paint(one.level, _COLORS[one.level], color)
    code, caret = excerpt(one)
    lines = [f"{printable(one.place)}: {level}: {printable(one.text)} [{one.check}]"]
    if code.strip():
        lines += [f"    {code}", f"    {caret}"]
    lines += [f"  why: {first_sentence(one.why)}", f"  fix: {printable(one.remedy)}", ""]
    return "\n".join(lines)


def excerpt(one: Finding) -> tuple[str, str]:
    """The line of the finding without its indent, and carets below the part that is meant."""
    line = printable(one.excerpt)
    first = one.column - 1
    last = one.end_column - 1 if one.end_line == one.line else len(line.rstrip())
    indent = len(line) - len(line.lstrip())
    start = min(indent, first)
    if first - start > _WIDTH - 30:  # a long line: the part around the finding
        start = first - 30
    shown = line[start : start + _WIDTH].rstrip()
    width = max(1, min(last - first, len(shown) - (first - start)))
    return shown, " " * (first - start) + "^" * width


def first_sentence(text: str) -> str:
    head, found, _ = text.partition(". ")
    return head + "." if found else text


def _unused(file: str, cell: int | None, line: int, ids: tuple[str, ...]) -> str:
    place = f"{printable(file)}:" + ("" if cell is None else f"cell {cell}:") + str(line)
    names = f"[{', '.join(printable(one) for one in ids)}]" if ids else ""
    unknown = [unknown_check(printable(one)) for one in ids if one not in CHECKS]
    why = f" ({'; '.join(unknown)})" if unknown else ""
    return f"{place}: note: the comment tundish: ignore{names} silences nothing{why}\n"
