"""The jobs of the benchmark: an optimizer with its arguments, a tolerance and a minimum memory traffic."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Job:
    kind: str
    arguments: dict[str, Any]  # arguments, named as in torch, timm and tundish
    # Minimum bytes of memory traffic per fp32 element. Every array that a step needs is read once, and
    # written once if it changes. A norm that is needed before the update takes another read. None if
    # the step is not memory-bound.
    bytes: int | None
    max_norm: float = 0.0
    ema_decay: float = 0.0
    scaler: bool = False  # whether gradients are scaled by a GradScaler
    # Maximum distance from the weights of the reference, relative to the change that the steps make.
    tolerance: float = 3e-4
    note: str = field(default="", compare=False)

    def for_timing(self) -> Job:
        """Returns the job with a tiny learning rate, for hundreds of steps with the same gradient."""
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
    # Rounding may change the sign of a sum near 0, which changes that element by a whole step.
    "lion": Job("lion", {"lr": 1e-4, "weight_decay": 0.1}, 20, tolerance=2e-2),
    # Three steps change a weight in a large tensor by a millionth. Rounding is 7e-4 of this change.
    "novograd": Job(
        "novograd", {"lr": 1e-2, "betas": (0.95, 0.98), "weight_decay": 1e-3}, 24, tolerance=2e-3
    ),
    # Newton-Schulz runs in bfloat16, where products in another order differ in the third digit.
    "muon": Job("muon", {"lr": 1e-2, "weight_decay": 0.1}, None, tolerance=5e-2),
}
