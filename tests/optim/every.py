"""Every optimizer with arguments that suit the small models of tests/helpers/optim_models.py."""

from __future__ import annotations

from typing import Any

from tundish import optim

EVERY: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3},
    "Adam": {"lr": 3e-3},
    "AdamW": {"lr": 3e-3},
    "Lion": {"lr": 1e-3, "weight_decay": 0.05},
    "LARS": {"lr": 1.0, "momentum": 0.9, "weight_decay": 1e-3, "trust_coeff": 0.02},
    "LAMB": {"lr": 1e-2, "max_grad_norm": None},
    "NVLAMB": {"lr": 1e-2, "max_grad_norm": None, "weight_decay": 0.0},
    "NovoGrad": {"lr": 0.1, "weight_decay": 1e-3},
}
ELEMENTWISE = ["SGD", "Adam", "AdamW", "Lion"]


def make(name: str, parameters: Any, **more: Any) -> Any:
    return getattr(optim, name)(parameters, **{**EVERY[name], **more})
