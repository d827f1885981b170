"""Logs the changes that threads="auto" makes."""

from __future__ import annotations

import logging
import time
from typing import Any

from .engine import LoaderEngine

log = logging.getLogger("tundish")
_EVERY_S = 1.0  # interval between queries of the engine


class TuningLog:
    """Logs changes. poll() is called after each batch and usually returns quickly."""

    def __init__(self, engine: LoaderEngine, tunes: bool) -> None:
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
        for change in newest[max(0, len(newest) - new) :]:
            log.info("%s", describe_change(change))


def describe_change(change: dict[str, Any]) -> str:
    """Describes a change to the number of threads or prefetched batches in one line."""
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
