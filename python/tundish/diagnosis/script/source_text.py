"""Reads Python source files: decodes the text and parses it to a syntax tree."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from dataclasses import dataclass

MAX_BYTES = 1 << 20  # takes about a second to parse; longer files are usually generated

_DECLARED = re.compile(rb"[ \t\f]*#.*?coding[:=]")  # PEP 263
TOO_DEEP = ("expressions or blocks are nested too deeply", "split the longest expression")


class SourceRefused(Exception):
    """Raised for a file that cannot be checked. Has the reason, a fix, and the line if it is known."""

    def __init__(self, reason: str, fix: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.fix, self.line = reason, fix, line


@dataclass(frozen=True)
class SourceText:
    """The text and syntax tree of a file or a notebook.

    `cells` maps the lines of the text to notebook cells. It is empty for a Python file.
    """

    path: str
    lines: list[str]  # lines of the text without line endings; line 1 is lines[0]
    tree: ast.Module
    cells: list[tuple[int, int]]  # for each line: cell number and line in the cell, both from 1

    def location(self, line: int) -> tuple[int | None, int]:
        """Returns the cell number (None in a Python file) and the line in the cell or file."""
        if self.cells and 0 < line <= len(self.cells):
            return self.cells[line - 1]
        return None, line


def read_source(path: str, data: bytes) -> SourceText:
    """Parses a `.py` file. Raises SourceRefused."""
    check_size(data)
    text = decode(data)
    return SourceText(path, split_lines(text), parse(text), [])


def check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise SourceRefused(
            f"{len(data):,} bytes are more than the limit of {MAX_BYTES:,}",
            "check hand-written scripts, not generated files",
        )


def decode(data: bytes) -> str:
    try:
        text = data.decode(_encoding(data))
    except (SyntaxError, LookupError):
        raise SourceRefused(
            "Python does not know the declared encoding", "save it as UTF-8"
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceRefused(
            f"byte {error.start:,} is not {error.encoding}", "save the file as UTF-8", line
        ) from None
    except UnicodeError as error:  # some codecs, such as punycode, do not name the wrong byte
        raise SourceRefused(f"not in its declared encoding: {error}", "save it as UTF-8") from None
    if "\0" in text:
        raise SourceRefused(
            "contains null bytes, so it is not Python source",
            "name a Python file",
            text.count("\n", 0, text.index("\0")) + 1,
        )
    return text


def _encoding(data: bytes) -> str:
    """Returns the declared encoding, or UTF-8. Raises SyntaxError for an unknown encoding."""
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:  # also raised if the first two lines are not UTF-8
        if any(_DECLARED.match(line) for line in data.split(b"\n", 2)[:2]):
            raise
        return "utf-8"


def split_lines(text: str) -> list[str]:
    """Splits text into lines as Python does: form feeds and Unicode separators do not end a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns about invalid escapes
        try:
            return ast.parse(text)
        except SyntaxError as error:
            message = error.msg or "invalid syntax"
            fix = f"run it with this Python ({sys.version_info[0]}.{sys.version_info[1]}) first"
            if "print" in message and "parenthes" in message:
                fix = "this is Python 2: convert it to Python 3"
            raise SourceRefused(f"syntax error: {message}", fix, error.lineno) from None
        except (RecursionError, MemoryError):
            raise SourceRefused(*TOO_DEEP) from None
        except ValueError as error:  # null bytes, or numbers that are too long
            raise SourceRefused(str(error), "name a Python file") from None
