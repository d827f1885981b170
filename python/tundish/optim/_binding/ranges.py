"""Checks the ranges of hyperparameters. Raises ValueError, as torch does."""

from __future__ import annotations

from typing import Any, SupportsFloat


def check_at_least_0(owner: str, **values: Any) -> None:
    for name, value in values.items():
        if not number_of(owner, name, value) >= 0:
            raise ValueError(f"{owner}: {name} must be 0 or more, not {float(value)}")


def number_of(owner: str, name: str, value: Any) -> float:
    """Returns the value as a float. Refuses text, as torch's optimizers do."""
    if isinstance(value, str) or not isinstance(value, SupportsFloat):
        raise TypeError(f"{owner}: {name} must be a number, not {value!r}")
    return float(value)


def check_betas(owner: str, betas: tuple[float, float]) -> None:
    if len(betas) != 2 or not all(0 <= float(beta) < 1 for beta in betas):
        raise ValueError(f"{owner}: betas must be two numbers from 0 to below 1, not {betas}")
