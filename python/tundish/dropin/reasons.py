"""Reasons why torch's code is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A reason why the engine cannot make the batches."""

    what: str
    instead: str  # advice as a clause, such as "leave it out"
    where: str = ""  # the user's code in question, such as "train.py:12"

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}; instead: {self.instead}"


class NotTranslated(Exception):
    """Raised if a DataLoader cannot be translated, so that torch's code is kept."""

    def __init__(self, *reasons: Reason) -> None:
        super().__init__("; ".join(map(str, reasons)))
        self.reasons = reasons


def not_translated(what: str, instead: str, where: str = "") -> NotTranslated:
    return NotTranslated(Reason(what, instead, where))
