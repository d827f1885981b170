"""What threads="auto" chose, in the log."""

from __future__ import annotations

import logging
import time
from typing import Any

from .engine import Engine

log = logging.getLogger("tundish")
_EVERY_S = 1.0  # a question to the engine


class TuningLog:
    """Asked after each batch; quick most of the time."""

    def __init__(self, engine: Engine, tunes: bool) -> None:
        self._engine = engine
        self._logged = 0
        self._next_s = time.monotonic() if tunes else float("inf")

    def poll(self) -> None:
        now = time.monotonic()
        if now < self._next_s:
            return
        self._next_s = now + _EVERY_S
        if not log.isEnabledFor(logging.INFO):
            return
        changes, newest = self._engine.tuning()
        new, self._logged = changes - self._logged, changes
        for one in newest[max(0, len(newest) - new) :]:
            log.info("%s", about(one))


def about(change: dict[str, Any]) -> str:
    """A line for people."""
    rates = ""
    if change["predicted_samples_per_s"]:
        rates = (
            f"; {change['samples_per_s']:,.0f} samples/s before, "
            f"{change['predicted_samples_per_s']:,.0f} predicted"
        )
    changed = [
        f"{name}: {change[before]} -> {change[name]}"
        for name, before in (("threads", "from"), ("prefetch", "prefetch_from"))
        if change[before] != change[name]
    ]
    return f"{', '.join(changed)}: {change['reason']}{rates}"
