"""Any file as Python source: bytes to text to syntax tree, or the reason why not."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass

MAX_BYTES = 1 << 20  # parsed in about a second; longer files are made by programs

_DECLARED = re.compile(rb"[ \t\f]*#.*?coding[:=]")  # PEP 263
TOO_DEEP = ("expressions or blocks are nested too deeply", "split the longest expression")


class Refused(Exception):
    """A file that cannot be checked: the reason, its line if one is known, and a fix."""

    def __init__(self, reason: str, fix: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.fix, self.line = reason, fix, line


@dataclass(frozen=True)
class Source:
    """Text and tree. `cells` maps lines of the text to cells of a notebook (empty for a file)."""

    path: str
    lines: list[str]  # without line ends; line 1 is lines[0]
    tree: ast.Module
    cells: list[tuple[int, int]]  # per line: number of the cell, line in the cell, both from 1

    def place(self, line: int) -> tuple[int | None, int]:
        """The cell (None in a file) and the line in it."""
        if self.cells and 0 < line <= len(self.cells):
            return self.cells[line - 1]
        return None, line


def read_source(path: str, data: bytes) -> Source:
    """The source of a `.py` file. Raises Refused."""
    check_size(data)
    text = decode(data)
    return Source(path, split_lines(text), parse(text), [])


def check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise Refused(
            f"{len(data):,} bytes are more than the limit of {MAX_BYTES:,}",
            "check the scripts that people write, not generated files",
        )


def decode(data: bytes) -> str:
    try:
        text = data.decode(_encoding(data))
    except (SyntaxError, LookupError):
        raise Refused("the declared encoding is not one of Python's", "save it as UTF-8") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refused(
            f"byte {error.start:,} is not {error.encoding}", "save the file as UTF-8", line
        ) from None
    if "\0" in text:
        raise Refused(
            "it holds zero bytes, so it is not Python source",
            "name a Python file",
            text.count("\n", 0, text.index("\0")) + 1,
        )
    return text


def _encoding(data: bytes) -> str:
    """The declared one, or UTF-8. SyntaxError if Python does not know the declared one."""
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:  # also where the first two lines are not UTF-8
        if any(_DECLARED.match(line) for line in data.split(b"\n", 2)[:2]):
            raise
        return "utf-8"


def split_lines(text: str) -> list[str]:
    """As Python counts lines: a form feed or a Unicode separator does not end one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of invalid escapes: the script's own business
        try:
            return ast.parse(text)
        except SyntaxError as error:
            message = error.msg or "invalid syntax"
            fix = "run it with Python 3 first"
            if "print" in message and "parenthes" in message:
                fix = "this is Python 2: convert it to Python 3"
            raise Refused(f"syntax error: {message}", fix, error.lineno) from None
        except (RecursionError, MemoryError):
            raise Refused(*TOO_DEEP) from None
        except ValueError as error:  # zero bytes, numbers that are too long
            raise Refused(str(error), "name a Python file") from None
