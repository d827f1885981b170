"""Finds the lines that allocated a tensor: the user's line, and the innermost line outside torch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..._process.code_origin import is_user_file
from ...tuning.source_lines import Line
from ...tuning.source_lines import is_users as is_outside_torch

NOWHERE = Line()


@dataclass(frozen=True)
class AllocationSite(Line):
    """The place in the code that allocated a tensor.

    `file` and `number` identify the innermost line outside torch, possibly in an installed package.
    `script` is the innermost line in the user's own files.
    """

    script: Line = NOWHERE

    @property
    def inner(self) -> str:
        """The line in a package ("resnet.py:92"), or "" if the user's line is the innermost line."""
        if not self.number or (self.file, self.number) == (self.script.file, self.script.number):
            return ""
        return f"{self.file.rpartition('/')[2]}:{self.number}"


def allocation_site(frames: Iterable[tuple[str, int]]) -> AllocationSite:
    """Returns the allocation site for `frames`: (file, line) pairs, innermost first."""
    inner = Line()
    for file, number in frames:
        if not is_outside_torch(file):
            continue
        if not inner.number:
            inner = Line(file, number)
        if is_user_file(file):
            return AllocationSite(inner.file, inner.number, Line(file, number))
    return AllocationSite(inner.file, inner.number)


def current_site() -> AllocationSite:
    """Returns the allocation site for the current stack of this thread."""
    return allocation_site(_frames())


def _frames() -> Iterator[tuple[str, int]]:
    frame = sys._getframe(1)
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
