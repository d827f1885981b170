"""How long a run may take, in minutes. Without torch: the program shows it before torch is imported."""

from __future__ import annotations

MINUTES, QUICK_MINUTES = 6.0, 2.0
CHECK_MINUTES = 100 / 60  # of --check, which has no limit of its own: as it takes on a GPU


def limit_of(minutes: float | None, quick: bool) -> float:
    return minutes if minutes is not None else QUICK_MINUTES if quick else MINUTES
