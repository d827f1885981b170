"""A user's file: text, syntax tree, and the exact places of its nodes in the text."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path


class SourceFile:
    """Raises OSError, SyntaxError or ValueError if the file is not Python source."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        self.encoding, _ = tokenize.detect_encoding(io.BytesIO(self.data).readline)
        self._mark = codecs.BOM_UTF8 if self.encoding == "utf-8-sig" else b""
        self.text = self.data.decode(self.encoding)
        self.lines = list(
            io.StringIO(self.text, newline="")
        )  # with their endings; line 1: lines[0]
        self.tree = parsed(self.text)
        self._parents = {
            id(child): node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        self._line_starts = [0]
        for line in self.lines:
            self._line_starts.append(self._line_starts[-1] + len(line))

    def encoded(self, text: str) -> bytes:
        encoding = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        return self._mark + text.encode(encoding)

    # --- places in the text: offsets in characters ----------------------------------------------

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def code(self, node: ast.expr | ast.stmt) -> str:
        return self.text[self.start(node) : self.end(node)]

    def line_start(self, line: int) -> int:
        """Returns the offset of a line, or the end of the text for the line after the last."""
        return self._line_starts[min(line - 1, len(self.lines))]

    def indentation(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def newline(self, line: int) -> str:
        """Returns the line's ending, or the first one of the file."""
        for text in (self.lines[line - 1] if self.lines else "", *self.lines[:1]):
            ending = text[len(text.rstrip("\r\n")) :]
            if ending:
                return ending
        return "\n"

    def _offset(self, line: int, column: int) -> int:
        """`column`: in UTF-8 bytes, as in `ast`."""
        before = self.lines[line - 1].encode()[:column] if line <= len(self.lines) else b""
        return self._line_starts[line - 1] + len(before.decode())

    # --- the tree -------------------------------------------------------------------------------

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields the nodes around a node, innermost first."""
        parent = self._parents.get(id(node))
        while parent is not None:
            yield parent
            parent = self._parents.get(id(parent))

    def statement(self, node: ast.AST) -> ast.stmt:
        """Returns the innermost statement of an expression."""
        return next(n for n in (node, *self.parents(node)) if isinstance(n, ast.stmt))

    def scope(self, node: ast.AST) -> ast.AST:
        """Returns the innermost function, class or module around a node."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
        return next(parent for parent in self.parents(node) if isinstance(parent, kinds))

    def strings_over_lines(self) -> set[int]:
        """Returns the lines that begin within a string."""
        opened: list[int] = []
        inside: set[int] = set()
        lines = [line.rstrip("\r\n") + "\n" for line in self.lines]  # it takes no \r alone
        for token in tokenize.generate_tokens(iter([*lines, ""]).__next__):
            name = tokenize.tok_name[token.type]
            if name in ("FSTRING_START", "TSTRING_START"):
                opened.append(token.start[0])
            elif name in ("FSTRING_END", "TSTRING_END"):
                inside.update(range(opened.pop() + 1, token.end[0] + 1))
            elif name == "STRING":
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
        return inside


def parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in strings
        return ast.parse(text)


def check_compiles(text: str) -> None:
    """Raises SyntaxError for code that parses but does not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, "script", "exec", dont_inherit=True)


def first_line(statement: ast.stmt) -> int:
    """Returns the first line of a statement, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
