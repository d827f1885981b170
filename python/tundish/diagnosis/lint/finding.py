"""Results of `tundish check`: findings, unchecked files and unused suppressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """A problem that `tundish.check` found in one line of a file.

    Lines and columns count from 1. Columns count characters. In a notebook, `cell` is the number of
    the code cell, from 1, and `line` is the line in the cell.
    """

    file: str
    cell: int | None
    line: int
    column: int
    end_line: int
    end_column: int
    check: str
    level: str
    text: str
    reason: str
    fix: str
    page: str
    excerpt: str

    @property
    def place(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}:{self.column}"

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "level": self.level,
            "file": self.file,
            "cell": self.cell,
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "text": self.text,
            "reason": self.reason,
            "fix": self.fix,
            "page": self.page,
            "excerpt": self.excerpt,
        }


@dataclass(frozen=True)
class NotChecked:
    """A file that could not be checked, with the reason."""

    file: str
    line: int | None
    reason: str
    fix: str

    def as_json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "reason": self.reason, "fix": self.fix}

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        return f"{self.file}{line}: {self.reason}\n  fix: {self.fix}"


@dataclass(frozen=True)
class UnusedSuppression:
    """A suppression comment that suppressed no finding."""

    file: str
    cell: int | None
    line: int
    ids: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"file": self.file, "cell": self.cell, "line": self.line, "ids": list(self.ids)}


@dataclass(frozen=True)
class CheckReport:
    """The result of `tundish.check`; `print(report)` shows all findings.

    `bool(report)` is True if there are no problems and every file could be checked.
    """

    files: int  # number of files
    findings: list[Finding]  # all findings, sorted by file and line
    not_checked: list[NotChecked]  # unchecked files: `file`, `line`, `reason`, `fix`
    unused_suppressions: list[UnusedSuppression]  # unused comments: `file`, `cell`, `line`, `ids`
    suppressed: int  # number of findings suppressed by comments
    seconds: float  # duration of the check
    test_files: int = 0  # number of unit test files, which are only checked for wrong results
    generated_files: int = 0  # number of generated files, which are only checked for wrong results

    @property
    def problems(self) -> int:
        """The number of findings, not counting notes."""
        return sum(finding.level != "note" for finding in self.findings)

    def __bool__(self) -> bool:
        return not self.problems and not self.not_checked

    def __str__(self) -> str:
        from .finding_text import report_text

        return report_text(self)

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "files": self.files,
            "findings": [finding.as_json() for finding in self.findings],
            "not_checked": [file.as_json() for file in self.not_checked],
            "unused_suppressions": [
                suppression.as_json() for suppression in self.unused_suppressions
            ],
            "suppressed": self.suppressed,
            "seconds": round(self.seconds, 3),
            "test_files": self.test_files,
            "generated_files": self.generated_files,
        }
