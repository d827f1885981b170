"""The type of a runtime check: its id, title and reason, and a function that examines the observed facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...probe.facts import Facts, ObservedFacts


@dataclass(frozen=True)
class RuntimeFinding:
    """A finding about a running script. `file` is "" if no single line is responsible."""

    text: str
    fix: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class RuntimeRule:
    """A check of a running script.

    find   called with the facts of one process and `facts.observed`
    level  "error" (results are wrong) or "warning" (time or memory is lost)
    """

    id: str
    title: str
    level: str
    reason: str
    find: Callable[[Facts, ObservedFacts], Iterable[RuntimeFinding]]

    @property
    def page(self) -> str:
        return f"docs/check.md#{self.id}"


def name_list(names: list[str], count: int, shown: int = 3) -> str:
    """Returns the first names as text, with the number of further names."""
    text = ", ".join(names[:shown])
    return f"{text} and {count - shown} more" if count > shown else text
