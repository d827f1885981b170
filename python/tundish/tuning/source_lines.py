"""Finds the line of user code that called torch."""

from __future__ import annotations

import linecache
import os
import re
import sys
import types
from dataclasses import dataclass

import torch

# Code that may be on the stack between the user's line and an operation: torch, this package and
# Python's standard library.
_NOT_THE_USERS = (
    os.path.dirname(torch.__file__) + os.sep,
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep,
    os.path.dirname(os.__file__) + os.sep,
)
_PACKAGES = (
    "site-packages",
    "dist-packages",
)  # folders of third-party packages, which are inside the standard library's folder
_FORMATTED = re.compile(r'File "(.+?)", line (\d+)')


@dataclass(frozen=True)
class Line:
    """A line of a source file; `number` is 0 if the line is unknown."""

    file: str = ""
    number: int = 0

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.number).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.number}" if self.number else "(unknown line)"


def is_users(file: str) -> bool:
    if file.startswith("<"):
        return file.startswith(("<stdin>", "<string>", "<ipython"))
    if not file.startswith(_NOT_THE_USERS):
        return True
    if file.startswith(_NOT_THE_USERS[:2]):
        return False
    return any(f"{os.sep}{name}{os.sep}" in file for name in _PACKAGES)


def current_line(stop: types.CodeType | None = None) -> Line:
    """Returns the innermost line of user code on this thread's stack. Stops the search at `stop`."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not stop:
        if is_users(frame.f_code.co_filename):
            return Line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return Line()


def line_of_traceback(formatted: list[str]) -> Line:
    """Returns the innermost line of user code in a formatted traceback, which autograd stores."""
    for entry in reversed(formatted):
        found = _FORMATTED.search(entry)
        if found and is_users(found[1]):
            return Line(found[1], int(found[2]))
    return Line()
