"""Muon's formula in fp64, one matrix at a time, a line per operation."""

from __future__ import annotations

import math
from typing import Any

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
SHAPES = [(8, 8), (16, 8), (8, 8), (8, 24), (5, 3), (1, 7), (48, 64), (64, 48), (64, 48)]


def matrices(dtype: torch.dtype = torch.float32) -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(11)
    return [
        torch.nn.Parameter((0.1 * torch.randn(shape, generator=generator)).to(dtype))
        for shape in SHAPES
    ]


def orthogonalize_by_formula(matrix: Any, steps: int = 5, eps: float = 1e-7) -> Any:
    a, b, c = COEFFICIENTS
    x = matrix.double()
    x = x / max(float(x.norm()), eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + b * gram @ x + c * gram @ gram @ x
    return x


def step_by_formula(state: dict[str, Any], gradient: Any, **given: Any) -> None:
    """Computes one step of one matrix; state: weights, momentum."""
    lr, decay = given["lr"], given.get("weight_decay", 0.1)
    share = given.get("momentum", 0.95)
    state["momentum"] = share * state["momentum"] + (1 - share) * gradient
    direction = state["momentum"]
    if given.get("nesterov", True):
        direction = share * state["momentum"] + (1 - share) * gradient
    update = orthogonalize_by_formula(direction, given.get("ns_steps", 5))
    rows, columns = gradient.shape
    if given.get("adjust_lr_fn") == "match_rms_adamw":
        ratio = 0.2 * math.sqrt(max(rows, columns))
    else:
        ratio = math.sqrt(max(1, rows / columns))
    state["weights"] = (1 - lr * decay) * state["weights"] - lr * ratio * update
