"""`tundish.check(paths)`: lints Python files and notebooks without running them."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Iterable, Sequence

from ..._c.errors import ArgumentError
from ..rules.static import RULES, Occurrence, StaticRule
from ..script import Script
from ..script.bindings import end_position, start_position
from ..script.notebook import read_notebook
from ..script.source_text import MAX_BYTES, TOO_DEEP, SourceRefused, SourceText, read_source
from .file_kinds import has_unit_tests, is_generated
from .finding import CheckReport, Finding, NotChecked, UnusedSuppression
from .python_files import python_files
from .suppressions import Suppression, suppressions, unknown_check


def check(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> CheckReport:
    """Finds code that makes training scripts slow or wrong, without running them.

    paths     a file, a folder (for all `.py` and `.ipynb` files inside), or several paths
    select    ids of the checks to run; default: all checks
    ignore    ids of the checks to skip

    In unit tests and generated files, only checks for wrong results run, unless `select` names
    checks. `print(report)` shows all findings. Each entry of `report.findings` has the attributes
    `file`, `line`, `check`, `text` and `fix`.
    """
    began = time.perf_counter()
    chosen = choose(select, ignore)
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    findings: list[Finding] = []
    refused: list[NotChecked] = []
    unused: list[UnusedSuppression] = []
    suppressed = files = tests = generated = 0
    for path, in_tests in python_files([os.fspath(path_like) for path_like in given]):
        files += 1
        try:
            source = _read(path)
            is_test = not select and (in_tests or has_unit_tests(source.tree))
            is_made = not select and not is_test and is_generated(source.lines)
            tests += is_test
            generated += is_made
            checks = _errors(chosen) if is_test or is_made else chosen
            found, left, count = check_source(source, checks)
        except RecursionError:
            refused.append(NotChecked(path, None, *TOO_DEEP))
            continue
        except SourceRefused as error:
            refused.append(NotChecked(path, error.line, error.reason, error.fix))
            continue
        findings += found
        unused += left
        suppressed += count
    seconds = time.perf_counter() - began
    return CheckReport(files, findings, refused, unused, suppressed, seconds, tests, generated)


def _errors(checks: Sequence[StaticRule]) -> list[StaticRule]:
    """Returns the checks for wrong results. Only they run on files whose speed does not matter."""
    return [check for check in checks if check.level == "error"]


def choose(select: Sequence[str], ignore: Sequence[str]) -> list[StaticRule]:
    """Returns the selected checks. Raises ArgumentError for an unknown id."""
    for name in (*select, *ignore):
        if name not in RULES:
            raise ArgumentError(f"{unknown_check(name)}\n  fix: tundish check --list shows all")
    return [
        check
        for name, check in RULES.items()
        if (not select or name in select) and name not in ignore
    ]


def check_source(
    source: SourceText, checks: Sequence[StaticRule]
) -> tuple[list[Finding], list[UnusedSuppression], int]:
    """Lints one source file.

    Returns the findings in order, the unused suppression comments, and the number of suppressed
    findings.
    """
    script = Script(source)
    comments = suppressions(source.lines)
    found: list[Finding] = []
    suppressed = 0
    for check in checks:
        seen: set[tuple[int, int]] = set()
        for occurrence in check.find(script):
            if start_position(occurrence.node) in seen:
                continue
            seen.add(start_position(occurrence.node))
            if _is_suppressed(script, check.id, occurrence.node, comments):
                suppressed += 1
            else:
                found.append(_finding(source, check, occurrence))
    names = {check.id for check in checks}
    unused = [
        UnusedSuppression(source.path, *source.location(comment.line), ids)
        for comment in comments
        if (ids := comment.unused_ids()) is not None
        and all(check_id in names or check_id not in RULES for check_id in ids)
    ]
    return (
        sorted(
            found,
            key=lambda finding: (finding.cell or 0, finding.line, finding.column, finding.check),
        ),
        unused,
        suppressed,
    )


def _read(path: str) -> SourceText:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                size = os.fstat(file.fileno()).st_size
                raise SourceRefused(
                    f"{size:,} bytes are more than the limit of {MAX_BYTES:,}",
                    "check hand-written scripts, not generated files",
                )
    except OSError as error:
        raise SourceRefused(
            error.strerror or str(error), "check the path and its permissions"
        ) from None
    return read_notebook(path, data) if path.endswith(".ipynb") else read_source(path, data)


def _is_suppressed(script: Script, check: str, node: ast.AST, comments: list[Suppression]) -> bool:
    """Returns whether a comment suppresses the finding, and marks the comment as used.

    The comment may be on a line of the finding, on the first line of its statement, or on the line
    above either of them.
    """
    first = start_position(node)[0]
    last = end_position(node)[0] or first
    statement = script.statement(node)
    simple = not hasattr(statement, "body")
    top = statement.lineno
    bottom = (statement.end_lineno or top) if simple else top
    for comment in comments:
        on_node = comment.suppresses(check, first, last)
        if on_node or comment.suppresses(check, top, bottom):
            comment.used.add(check)
            return True
    return False


def _finding(source: SourceText, check: StaticRule, found: Occurrence) -> Finding:
    node = found.node
    line, column = start_position(node)
    end_line = getattr(node, "end_lineno", None) or line
    end_column = getattr(node, "end_col_offset", None) or column
    cell, shown = source.location(line)
    text = source.lines[line - 1] if 0 < line <= len(source.lines) else ""
    last = source.lines[end_line - 1] if 0 < end_line <= len(source.lines) else ""
    return Finding(
        file=source.path,
        cell=cell,
        line=shown,
        column=_characters(text, column) + 1,
        end_line=source.location(end_line)[1],
        end_column=_characters(last, end_column) + 1,
        check=check.id,
        level=check.level,
        text=found.text,
        reason=check.reason,
        fix=found.fix,
        page=check.page,
        excerpt=text,
    )


def _characters(line: str, offset: int) -> int:
    """Converts a UTF-8 byte offset from the syntax tree to a character offset."""
    return len(line.encode("utf-8", "replace")[:offset].decode("utf-8", "replace"))
