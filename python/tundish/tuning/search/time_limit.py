"""How long a run may take, in minutes. Without torch: the program shows it before torch is imported."""

from __future__ import annotations

MINUTES, QUICK_MINUTES = 6.0, 2.0
REMEASURE_MINUTES = 100 / 60  # typical on a GPU; tune remeasure has no limit


def limit_of(minutes: float | None, quick: bool) -> float:
    return minutes if minutes is not None else QUICK_MINUTES if quick else MINUTES
