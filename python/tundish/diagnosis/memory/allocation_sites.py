"""The line that made a tensor: of the user's script, and below it the innermost one that is not torch's."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...tuning.memory.source_lines import Line
from ...tuning.memory.source_lines import is_users as is_not_torchs
from ..probe.users_code import is_users

NOWHERE = Line()


@dataclass(frozen=True)
class Place(Line):
    """`file` and `number`: the innermost line outside of torch, which may be an installed package's. `script`: the
    innermost line of the user's own files."""

    script: Line = NOWHERE

    @property
    def inner(self) -> str:
        """The line in a package, as "resnet.py:92"; empty where the user's own line is the innermost one."""
        if not self.number or (self.file, self.number) == (self.script.file, self.script.number):
            return ""
        return f"{self.file.rpartition('/')[2]}:{self.number}"


def place_of(frames: Iterable[tuple[str, int]]) -> Place:
    """`frames`: file and line, the innermost first."""
    inner = Line()
    for file, number in frames:
        if not is_not_torchs(file):
            continue
        if not inner.number:
            inner = Line(file, number)
        if is_users(file):
            return Place(inner.file, inner.number, Line(file, number))
    return Place(inner.file, inner.number)


def current_place() -> Place:
    """Of this thread."""
    return place_of(_frames())


def _frames() -> Iterator[tuple[str, int]]:
    frame = sys._getframe(1)
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
