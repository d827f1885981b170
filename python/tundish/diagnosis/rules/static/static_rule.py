"""What a check is: words for people, and a function that finds the lines."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...lint.script import Script

LEVELS = ("error", "warning", "note")


@dataclass(frozen=True)
class Found:
    """One place: the node that is marked, what is wrong there, what to write instead."""

    node: ast.AST
    text: str
    remedy: str


@dataclass(frozen=True)
class Check:
    """level: error (results are wrong), warning (time or memory is lost), note (a suggestion)."""

    id: str
    title: str
    level: str
    why: str
    remedy: str
    before: str  # a few lines that are found
    after: str  # the same lines mended
    find: Callable[[Script], Iterable[Found]]
    silent: str = ""  # where the check keeps silent on purpose
    only_gpu: bool = False  # it costs nothing where the script runs on a CPU

    @property
    def page(self) -> str:
        return f"docs/checks.md#{self.id}"
