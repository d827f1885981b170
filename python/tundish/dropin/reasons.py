"""Why something stays with torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """One thing that blocks the engine."""

    what: str
    instead: str  # advice, as a clause
    where: str = ""  # "train.py:12", the user's code that it is about

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}; instead: {self.instead}"


class NotTranslated(Exception):
    """The DataLoader stays as it is."""

    def __init__(self, *reasons: Reason) -> None:
        super().__init__("; ".join(map(str, reasons)))
        self.reasons = reasons


def keep(what: str, instead: str, where: str = "") -> NotTranslated:
    return NotTranslated(Reason(what, instead, where))
