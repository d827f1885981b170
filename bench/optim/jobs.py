"""What an optimizer is asked to do: arguments, tolerance, and the bytes that memory must move."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Job:
    kind: str
    arguments: dict[str, Any]  # by the names that torch, timm and tundish share
    # Least bytes per fp32 element: every array that a step needs is read once, and written once where
    # it changes; a norm that the update needs first is one more read. None: not bound by memory.
    bytes: int | None
    max_norm: float = 0.0
    ema_decay: float = 0.0
    scaler: bool = False  # gradients come through a GradScaler
    # Largest distance from the reference's weights, in parts of what the steps changed.
    tolerance: float = 3e-4
    note: str = field(default="", compare=False)

    def for_timing(self) -> Job:
        """Hundreds of steps on one gradient: with a rate at which weights stay what they are."""
        return replace(self, arguments={**self.arguments, "lr": 1e-7})


_ADAMW = {"lr": 1e-3, "weight_decay": 0.01}
_LAMB = {"lr": 1e-2, "weight_decay": 0.01}

JOBS = {
    "sgd": Job("sgd", {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4}, 20),
    "adamw": Job("adamw", _ADAMW, 28),
    "adamw_clip_ema": Job("adamw", _ADAMW, 40, max_norm=1.0, ema_decay=0.99),
    "adamw_scaler_clip_ema": Job("adamw", _ADAMW, 40, max_norm=1.0, ema_decay=0.99, scaler=True),
    "lars": Job("lars", {"lr": 5.0, "momentum": 0.9, "weight_decay": 1e-4}, 28),
    "lamb": Job("lamb", _LAMB, 40),
    "lamb_clip": Job("lamb", _LAMB, 44, max_norm=1.0, note="timm's default"),
    # A sum that is almost 0 has another sign after another rounding: a whole step of that element.
    "lion": Job("lion", {"lr": 1e-4, "weight_decay": 0.1}, 20, tolerance=2e-2),
    # Three steps move a weight of a large tensor by a millionth: the rounding of the weight is 7e-4 of it.
    "novograd": Job(
        "novograd", {"lr": 1e-2, "betas": (0.95, 0.98), "weight_decay": 1e-3}, 24, tolerance=2e-3
    ),
    # Newton-Schulz in bfloat16: products in another order differ in the third digit.
    "muon": Job("muon", {"lr": 1e-2, "weight_decay": 0.1}, None, tolerance=5e-2),
}
