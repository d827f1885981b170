"""Adds imports, and statements after the imports, to a file."""

from __future__ import annotations

import ast

from .edits import (
    BEFORE,
    COMMENT,
    CannotEdit,
    Edits,
    TextEdit,
    TreeCopy,
    lines_after,
    stands_alone,
    statements,
)
from .source_file import SourceFile, first_line

_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)


def after_imports(source: SourceFile, edits: Edits) -> Edits:
    """Returns edits that import what the new code needs and then run its flags."""
    modules, flags = edits.modules, list(dict.fromkeys(edits.flags))
    starts = [edit.start for edit in edits.texts if edit.rank != COMMENT]
    limit = min(starts, default=len(source.text))
    if flags:
        modules = modules | {"torch"}
    for name in sorted(modules):
        _check_name(source, name)
    missing = sorted(name for name in modules if not _imports(source.tree.body, name))
    codes = [f"import {name}" for name in missing]
    if not codes and not flags:
        return Edits()
    anchor = _anchor(source, bool(flags) and "torch" not in missing, limit)
    body = source.tree.body

    def change(tree: TreeCopy) -> None:
        new = statements("\n".join([*codes, *flags]))
        index = 0 if anchor is None else tree.tree.body.index(tree.of(anchor)) + 1
        tree.tree.body[index:index] = new

    lines = codes + ([""] if flags and (codes or anchor is not None) else []) + flags
    if anchor is not None:
        return Edits([lines_after(source, anchor, lines)], [change])
    line = first_line(body[0]) if body else len(source.lines) + 1
    newline, place = source.newline(min(line, len(source.lines))), source.line_start(line)
    text = "".join(part + newline for part in [*lines, ""])
    return Edits([TextEdit(place, place, text, BEFORE)], [change])


def _anchor(source: SourceFile, follows_torch: bool, limit: int) -> ast.stmt | None:
    """Returns the statement after which the lines go; None for the beginning of the file.

    The lines go above `limit`, the first other edit: some scripts have more imports further down.
    """
    body = source.tree.body
    last = -1
    if ast.get_docstring(source.tree, clean=False) is not None:
        last = 0
    for index, statement in enumerate(body):
        if source.end(statement) > limit or isinstance(statement, _BLOCKS):
            break
        if isinstance(statement, ast.Import | ast.ImportFrom):
            last = index
    if follows_torch:
        last = max(last, next(i for i, one in enumerate(body) if _imports([one], "torch")))
    while last >= 0 and not stands_alone(source, body[last])[1]:
        if last + 1 == len(body):
            raise CannotEdit("the imports share a line with other statements")
        last += 1
    if last >= 0 and source.end(body[last]) > limit:
        raise CannotEdit("the code runs before its imports")
    return body[last] if last >= 0 else None


def _imports(body: list[ast.stmt], name: str) -> bool:
    """Returns whether statements of a module, run in any case, bind the name by an import."""
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                bound = alias.asname or alias.name.partition(".")[0]
                if bound == name and (alias.asname is None or alias.name == name):
                    return True
    return False


def _check_name(source: SourceFile, name: str) -> None:
    """Raises CannotEdit if the file uses the name of a module for something else."""
    for node in ast.walk(source.tree):
        bound = ""
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound = node.id
        elif isinstance(node, ast.arg):
            bound = node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound = node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                plain = isinstance(node, ast.Import) and alias.asname in (None, alias.name)
                is_module = plain and alias.name.partition(".")[0] == name
                if (alias.asname or alias.name.partition(".")[0]) == name and not is_module:
                    bound = name
        if bound == name:
            raise CannotEdit(f"{name} is the name of something else in this file")
