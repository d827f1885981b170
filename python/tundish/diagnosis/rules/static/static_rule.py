"""The type of a static check: its id, title, reason and fix, and a function that finds the lines."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...script import Script

LEVELS = ("error", "warning", "note")


@dataclass(frozen=True)
class Occurrence:
    """One place where a check finds a problem: the syntax node, the problem and the replacement."""

    node: ast.AST
    text: str
    fix: str


@dataclass(frozen=True)
class StaticRule:
    """A static check.

    level  "error" (results are wrong), "warning" (time or memory is lost) or "note" (a suggestion)
    """

    id: str
    title: str
    level: str
    reason: str
    fix: str
    before: str  # example lines that the check reports
    after: str  # the same lines after the fix
    find: Callable[[Script], Iterable[Occurrence]]
    silent: str = ""  # cases in which the check deliberately reports nothing
    only_gpu: bool = False  # whether the problem costs nothing on a CPU

    @property
    def page(self) -> str:
        return f"docs/check.md#{self.id}"
