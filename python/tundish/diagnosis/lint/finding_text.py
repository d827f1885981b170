"""Formats a report as text: location, finding, code with a caret, reason and fix."""

from __future__ import annotations

from ..._cli.terminal import CYAN, RED, YELLOW, paint, printable
from ..rules.static import RULES
from .finding import CheckReport, Finding
from .suppressions import unknown_check

_COLORS = {"error": RED, "warning": YELLOW, "note": CYAN}
_WIDTH = 100  # maximum width of an excerpt of code


def report_text(report: CheckReport, color: bool = False) -> str:
    parts = [_finding_text(finding, color) for finding in report.findings]
    parts += [
        _unused(suppression.file, suppression.cell, suppression.line, suppression.ids)
        for suppression in report.unused_suppressions
    ]
    return "\n".join([*parts, summary(report)])


def summary(report: CheckReport) -> str:
    """Returns a summary such as `4 findings in 2 of 7 files (1 error, 3 warnings)`."""
    checked = report.files - len(report.not_checked)
    files = f"{checked} {'file' if checked == 1 else 'files'}"
    if not report.findings:
        text = f"nothing found in {files}"
    else:
        count = len(report.findings)
        hit = len({finding.file for finding in report.findings})
        levels = [
            f"{n} {level}{'' if n == 1 else 's'}"
            for level in _COLORS
            if (n := sum(finding.level == level for finding in report.findings))
        ]
        noun = "finding" if count == 1 else "findings"
        text = f"{count} {noun} in {hit} of {files} ({', '.join(levels)})"
    if report.suppressed:
        text += f"; {report.suppressed} suppressed by a comment"
    if report.test_files:
        is_single = report.test_files == 1
        text += f"; {report.test_files} {'is a unit test' if is_single else 'are unit tests'}, checked for errors only"
    if report.generated_files:
        verb = "is" if report.generated_files == 1 else "are"
        text += f"; {report.generated_files} {verb} generated, checked for errors only"
    if report.not_checked:
        text += f"; {len(report.not_checked)} not checked"
    return text + "\n"


def _finding_text(finding: Finding, color: bool) -> str:
    level = paint(finding.level, _COLORS[finding.level], color)
    code, caret = excerpt(finding)
    lines = [f"{printable(finding.place)}: {level}: {printable(finding.text)} [{finding.check}]"]
    if code.strip():
        lines += [f"    {code}", f"    {caret}"]
    lines += [f"  why: {first_sentence(finding.reason)}", f"  fix: {printable(finding.fix)}", ""]
    return "\n".join(lines)


def excerpt(finding: Finding) -> tuple[str, str]:
    """Returns the line of the finding without indentation, and carets under the finding."""
    line = printable(finding.excerpt)
    first = finding.column - 1
    last = finding.end_column - 1 if finding.end_line == finding.line else len(line.rstrip())
    indent = len(line) - len(line.lstrip())
    start = min(indent, first)
    if first - start > _WIDTH - 30:  # show only the part of a long line around the finding
        start = first - 30
    shown = line[start : start + _WIDTH].rstrip()
    width = max(1, min(last - first, len(shown) - (first - start)))
    return shown, " " * (first - start) + "^" * width


def first_sentence(text: str) -> str:
    head, found, _ = text.partition(". ")
    return head + "." if found else text


def _unused(file: str, cell: int | None, line: int, ids: tuple[str, ...]) -> str:
    location = f"{printable(file)}:" + ("" if cell is None else f"cell {cell}:") + str(line)
    names = f"[{', '.join(printable(check_id) for check_id in ids)}]" if ids else ""
    unknown = [unknown_check(printable(check_id)) for check_id in ids if check_id not in RULES]
    why = f" ({'; '.join(unknown)})" if unknown else ""
    return f"{location}: note: the comment tundish: ignore{names} suppresses nothing{why}\n"
