"""Ranges of hyper-parameters. The exceptions are torch's: ValueError."""

from __future__ import annotations

from typing import Any


def check_at_least_0(owner: str, **values: Any) -> None:
    for name, value in values.items():
        if not float(value) >= 0:
            raise ValueError(f"{owner}: {name} must be 0 or more, not {float(value)}")


def check_betas(owner: str, betas: tuple[float, float]) -> None:
    if len(betas) != 2 or not all(0 <= float(beta) < 1 for beta in betas):
        raise ValueError(f"{owner}: betas must be two numbers from 0 to below 1, not {betas}")
