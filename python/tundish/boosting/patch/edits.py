"""Edits of a file. Each changes the text, and in the same way a copy of the syntax tree.

A file is written only if its new text parses to the changed tree: see draft.py.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .source_file import SourceFile, first_line, parsed

# Order of insertions at one place of the text.
AFTER, COMMENT, BEFORE, INDENT, INLINE = range(5)


class CannotEdit(Exception):
    """The change needs a person. The message says why."""


@dataclass(frozen=True)
class TextEdit:
    """Replaces text[start:end]."""

    start: int
    end: int
    text: str
    rank: int = INLINE


@dataclass
class Edits:
    """The edits of one change in one file. `modules`: imports that the new code needs."""

    texts: list[TextEdit] = field(default_factory=list)
    trees: list[Callable[[TreeCopy], None]] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)
    flags: list[str] = field(default_factory=list)  # statements after the imports

    def __add__(self, other: Edits) -> Edits:
        return Edits(
            self.texts + other.texts,
            self.trees + other.trees,
            self.modules | other.modules,
            self.flags + other.flags,
        )


class TreeCopy:
    """A copy of a file's syntax tree. Nodes are addressed by the nodes of the original."""

    def __init__(self, tree: ast.Module) -> None:
        self._memo: dict[int, Any] = {}
        self.tree: ast.Module = copy.deepcopy(tree, self._memo)
        self._inserted: dict[int, Any] = {}  # the last statement inserted after a node
        self._around: dict[int, ast.expr] = {}  # the outermost expression written around a node

    def of(self, node: ast.AST) -> Any:
        return self._memo[id(node)]

    def insert_after(self, node: ast.AST, new: list[ast.stmt]) -> None:
        """Inserts statements after a statement, below those inserted there before."""
        self._replace(self._inserted.get(id(node), self.of(node)), lambda old: [old, *new])
        self._inserted[id(node)] = new[-1]

    def wrap(self, node: ast.expr, make: Callable[[ast.expr], ast.expr]) -> None:
        """Replaces an expression, with those written around it before, by what `make` returns."""
        inner = self._around.get(id(node), self.of(node))

        def outer(old: Any) -> list[Any]:
            self._around[id(node)] = make(old)
            return [self._around[id(node)]]

        self._replace(inner, outer)

    def replace(self, node: ast.AST, make: Callable[[Any], list[Any]]) -> None:
        """Replaces a node by those that `make` returns: one, or several in a list of statements."""
        self._replace(self.of(node), make)

    def _replace(self, old: Any, make: Callable[[Any], list[Any]]) -> None:
        for parent in ast.walk(self.tree):
            for name, value in ast.iter_fields(parent):
                if value is old:
                    setattr(parent, name, make(old)[0])
                    return
                if isinstance(value, list):
                    for index, item in enumerate(value):
                        if item is old:
                            value[index : index + 1] = make(old)
                            return
        raise CannotEdit("two changes edit the same code")


def quoted(text: str) -> str:
    """Returns a string literal, in double quotes if possible."""
    code = repr(text)
    return f'"{text}"' if code == f"'{text}'" and '"' not in text else code


def statements(code: str) -> list[ast.stmt]:
    return parsed(code).body


def wrap_expression(source: SourceFile, node: ast.expr, before: str, after: str) -> Edits:
    """Writes code around an expression."""

    def change(tree: TreeCopy) -> None:
        hole = "_tundish_hole"
        outer = ast.parse(f"{before}{hole}{after}", mode="eval").body
        tree.wrap(node, lambda old: _Fill(hole, old).visit(outer))

    texts = [
        TextEdit(source.start(node), source.start(node), before),
        TextEdit(source.end(node), source.end(node), after),
    ]
    return Edits(texts, [change])


class _Fill(ast.NodeTransformer):
    def __init__(self, hole: str, node: ast.expr) -> None:
        self._hole, self._node = hole, node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._node if node.id == self._hole else node


def insert_before(source: SourceFile, statement: ast.stmt, codes: list[str]) -> Edits:
    """Inserts simple statements before a statement that contains no block."""
    if hasattr(statement, "body"):
        raise CannotEdit("the call is in the first line of a block")
    line, start = statement.lineno, source.start(statement)
    indent = source.indentation(line)
    if source.line_start(line) + len(indent) == start and not _continues(source, line):
        text = "".join(f"{indent}{code}{source.newline(line)}" for code in codes)
        edit = TextEdit(source.line_start(line), source.line_start(line), text, BEFORE)
    else:
        edit = TextEdit(start, start, "".join(f"{code}; " for code in codes))

    def change(tree: TreeCopy) -> None:
        tree.replace(statement, lambda old: [*statements("\n".join(codes)), old])

    return Edits([edit], [change])


def insert_after(source: SourceFile, statement: ast.stmt, codes: list[str]) -> Edits:
    """Inserts simple statements after a simple statement."""
    if hasattr(statement, "body"):
        raise CannotEdit("a block begins there")
    begins_line, ends_line = stands_alone(source, statement)
    if begins_line and ends_line:
        indent = source.indentation(statement.lineno)
        edit = lines_after(source, statement, [indent + code for code in codes])
    else:
        end = source.end(statement)
        edit = TextEdit(end, end, "".join(f"; {code}" for code in codes))

    def change(tree: TreeCopy) -> None:
        tree.insert_after(statement, statements("\n".join(codes)))

    return Edits([edit], [change])


def lines_after(source: SourceFile, statement: ast.stmt, lines: list[str]) -> TextEdit:
    """Returns the edit that inserts whole lines after the last line of a statement."""
    assert statement.end_lineno is not None
    newline, place = (
        source.newline(statement.end_lineno),
        source.line_start(statement.end_lineno + 1),
    )
    text = "".join(line + newline for line in lines)
    if place == len(source.text) and not source.text.endswith(("\n", "\r")):
        text = newline + text[: -len(newline)]
    return TextEdit(place, place, text, AFTER)


def stands_alone(source: SourceFile, statement: ast.stmt) -> tuple[bool, bool]:
    """Returns whether a statement begins its first line, and whether it ends its last line."""
    line, end_line = first_line(statement), statement.end_lineno
    assert end_line is not None
    begin = source.line_start(line) + len(source.indentation(line))
    decorators = getattr(statement, "decorator_list", [])
    starts = bool(decorators) or begin == source.start(statement)
    rest = source.text[source.end(statement) : source.line_start(end_line + 1)].strip()
    return starts and not _continues(source, line), not rest or rest.startswith("#")


def _continues(source: SourceFile, line: int) -> bool:
    """Returns whether the line above ends with a backslash, which joins the lines."""
    return line > 1 and source.lines[line - 2].rstrip("\r\n").endswith("\\")
