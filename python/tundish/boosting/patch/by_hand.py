"""Changes that need a person, as comments in the diff."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .edits import COMMENT, Edits, TextEdit, stands_alone
from .source_file import SourceFile, first_line


@dataclass(frozen=True)
class ByHand:
    """A change that could not be written. `code`: the code to add. `place`: FILE:LINE, or ""."""

    change: str
    reason: str
    code: str
    place: str = ""

    def comment(self) -> list[str]:
        lines = [f"# tundish boost, by hand: {self.change}: {self.reason}"]
        return lines + [f"#     {line}" for line in self.code.splitlines()]


def insert_comment(source: SourceFile, node: ast.AST | None, comment: list[str]) -> Edits:
    """Inserts a comment above the statement of a node, or above the first statement of the file."""
    statement = _statement_at_line_start(source, node)
    if statement is None:
        line = first_line(source.tree.body[0]) if source.tree.body else len(source.lines) + 1
    else:
        line = first_line(statement)
    indent = source.indentation(line) if line <= len(source.lines) else ""
    newline = source.newline(min(line, len(source.lines)) or 1)
    text = "".join(f"{indent}{part}{newline}" for part in comment)
    place = source.line_start(line)
    return Edits([TextEdit(place, place, text, COMMENT)])


def _statement_at_line_start(source: SourceFile, node: ast.AST | None) -> ast.stmt | None:
    if node is None:
        return None
    for parent in (node, *source.parents(node)):
        if isinstance(parent, ast.stmt) and stands_alone(source, parent)[0]:
            return parent
    return None
