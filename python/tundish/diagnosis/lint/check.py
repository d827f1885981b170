"""`tundish.check(paths)`: every Python file and notebook of the paths, checked without running it."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Iterable, Sequence

from ..._c.errors import ArgumentError
from ..rules.static import CHECKS, Check, Found
from .finding import Finding, NotChecked, Report, UnusedSuppression
from .generated_files import is_generated
from .python_files import python_files
from .script import Script
from .script.bindings import end_of, start_of
from .script.notebook import read_notebook
from .script.source_text import MAX_BYTES, TOO_DEEP, Refused, Source, read_source
from .suppressions import Suppression, suppressions, unknown_check
from .unit_tests import has_unit_tests


def check(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Report:
    """Finds what slows training scripts down, or makes them wrong, in their text. Nothing is run.

    paths     a file, a folder (all `.py` and `.ipynb` files below it), or several
    select    ids of the checks to do, instead of all
    ignore    ids of checks to leave out
    In unit tests and generated files only errors are looked for, unless `select` names checks.
    `print(report)` shows it; `report.findings` has `file`, `line`, `check`, `text`, `remedy`.
    """
    began = time.perf_counter()
    chosen = choose(select, ignore)
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    findings: list[Finding] = []
    refused: list[NotChecked] = []
    unused: list[UnusedSuppression] = []
    silenced = files = tests = generated = 0
    for path, in_tests in python_files([os.fspath(one) for one in given]):
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
        except Refused as error:
            refused.append(NotChecked(path, error.line, error.reason, error.fix))
            continue
        findings += found
        unused += left
        silenced += count
    seconds = time.perf_counter() - began
    return Report(files, findings, refused, unused, silenced, seconds, tests, generated)


def _errors(checks: Sequence[Check]) -> list[Check]:
    """The checks that find wrong results, for files where nobody cares about speed."""
    return [check for check in checks if check.level == "error"]


def choose(select: Sequence[str], ignore: Sequence[str]) -> list[Check]:
    """The checks of these ids. ArgumentError names an unknown one."""
    for name in (*select, *ignore):
        if name not in CHECKS:
            raise ArgumentError(f"{unknown_check(name)}\n  fix: tundish check --list shows all")
    return [
        check
        for name, check in CHECKS.items()
        if (not select or name in select) and name not in ignore
    ]


def check_source(
    source: Source, checks: Sequence[Check]
) -> tuple[list[Finding], list[UnusedSuppression], int]:
    """The findings of one source, sorted; comments that silence nothing; how many were silenced."""
    script = Script(source)
    comments = suppressions(source.lines)
    found: list[Finding] = []
    silenced = 0
    for check in checks:
        seen: set[tuple[int, int]] = set()
        for one in check.find(script):
            if start_of(one.node) in seen:
                continue
            seen.add(start_of(one.node))
            if _is_silenced(script, check.id, one.node, comments):
                silenced += 1
            else:
                found.append(_finding(source, check, one))
    names = {check.id for check in checks}
    unused = [
        UnusedSuppression(source.path, *source.place(comment.line), ids)
        for comment in comments
        if (ids := comment.unused()) is not None
        and all(one in names or one not in CHECKS for one in ids)
    ]
    return (
        sorted(found, key=lambda one: (one.cell or 0, one.line, one.column, one.check)),
        unused,
        silenced,
    )


def _read(path: str) -> Source:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                size = os.fstat(file.fileno()).st_size
                raise Refused(
                    f"{size:,} bytes are more than the limit of {MAX_BYTES:,}",
                    "check the scripts that people write, not generated files",
                )
    except OSError as error:
        raise Refused(error.strerror or str(error), "check the path and its permissions") from None
    return read_notebook(path, data) if path.endswith(".ipynb") else read_source(path, data)


def _is_silenced(script: Script, check: str, node: ast.AST, comments: list[Suppression]) -> bool:
    """By a comment on a line of the finding or of its statement's first line, or above either."""
    first = start_of(node)[0]
    last = end_of(node)[0] or first
    statement = script.statement(node)
    simple = not hasattr(statement, "body")
    top = statement.lineno
    bottom = (statement.end_lineno or top) if simple else top
    for comment in comments:
        on_node = comment.silences(check, first, last)
        if on_node or comment.silences(check, top, bottom):
            comment.used.add(check)
            return True
    return False


def _finding(source: Source, check: Check, found: Found) -> Finding:
    node = found.node
    line, column = start_of(node)
    end_line = getattr(node, "end_lineno", None) or line
    end_column = getattr(node, "end_col_offset", None) or column
    cell, shown = source.place(line)
    text = source.lines[line - 1] if 0 < line <= len(source.lines) else ""
    last = source.lines[end_line - 1] if 0 < end_line <= len(source.lines) else ""
    return Finding(
        file=source.path,
        cell=cell,
        line=shown,
        column=_characters(text, column) + 1,
        end_line=source.place(end_line)[1],
        end_column=_characters(last, end_column) + 1,
        check=check.id,
        level=check.level,
        text=found.text,
        why=check.why,
        remedy=found.remedy,
        page=check.page,
        excerpt=text,
    )


def _characters(line: str, offset: int) -> int:
    """Characters before a byte of the UTF-8 form, which is how the syntax tree counts."""
    return len(line.encode("utf-8", "replace")[:offset].decode("utf-8", "replace"))
