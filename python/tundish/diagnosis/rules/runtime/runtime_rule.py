"""What a check of a running script is: words for people, and a function of what the watch saw."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Seen:
    """One finding. `file` is empty where no single line is meant."""

    text: str
    remedy: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class RunningCheck:
    """level: error (results are wrong), warning (time or memory is lost). `find` gets the facts of one process."""

    id: str
    title: str
    level: str
    why: str
    find: Callable[[dict[str, Any]], Iterable[Seen]]

    @property
    def page(self) -> str:
        return f"docs/doctor-checks.md#{self.id}"


def some(names: list[str], count: int, shown: int = 3) -> str:
    """The first names, and how many more there are."""
    text = ", ".join(names[:shown])
    return f"{text} and {count - shown} more" if count > shown else text
