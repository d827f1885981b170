"""Time limits of a tuning run, in minutes. Must not import torch: the CLI shows limits before loading it."""

from __future__ import annotations

MINUTES, QUICK_MINUTES = 6.0, 2.0
REMEASURE_MINUTES = 100 / 60  # typical duration on a GPU; `tune remeasure` has no limit


def limit_of(minutes: float | None, quick: bool) -> float:
    return minutes if minutes is not None else QUICK_MINUTES if quick else MINUTES
