"""What became of each requested change."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from .request import Change


class Outcomes:
    """Collects outcomes. Of several objects, one that could not be changed decides."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._lock = threading.Lock()
        self._reasons: dict[str, str | None] = {change.name: None for change in changes}
        self.ways: dict[str, str] = {}  # by change: the framework's switch that made it

    def note(self, name: str, reason: str, way: str = "") -> None:
        """Records that a change was made, or why it was not. `way`: the switch of a framework."""
        with self._lock:
            self._reasons[name] = reason or self._reasons.get(name) or ""
            if way:
                self.ways[name] = way

    def made(self) -> list[str]:
        return [name for name, reason in self._reasons.items() if reason == ""]

    def left_out(self) -> dict[str, str]:
        """Returns the reasons of changes that were not made."""
        return {
            name: "the script did not use it" if reason is None else reason
            for name, reason in self._reasons.items()
            if reason != ""
        }
