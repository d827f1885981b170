"""Infinite weights, such as masked entries of a learned bias: without decay, they stay as in torch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from tundish import optim

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1}),
    ("Lion", {"lr": 0.1, "weight_decay": 0.1}),
    ("LARS", {"lr": 0.1}),
    ("LARS", {"lr": 0.1, "momentum": 0.9}),
    ("LAMB", {"lr": 0.1, "weight_decay": 0.0}),
    ("LAMB", {"lr": 0.1, "weight_decay": 0.0, "decoupled_decay": True}),
    ("NovoGrad", {"lr": 5.0}),
    ("NovoGrad", {"lr": 5.0, "reg_inside_moment": True}),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_infinite_weights_without_a_gradient_stay(
    name: str, arguments: dict[str, Any], dtype: torch.dtype
) -> None:
    masked = torch.arange(3000) % 3 == 0
    parameter = torch.nn.Parameter(torch.ones(3000, dtype=dtype).masked_fill(masked, -math.inf))
    optimizer = getattr(optim, name)([parameter], **arguments)
    for _ in range(3):
        parameter.grad = torch.ones_like(parameter).masked_fill(masked, 0.0)
        optimizer.step()
    assert bool((parameter[masked] == -math.inf).all())
    assert bool(parameter[~masked].isfinite().all())
    assert bool((parameter[~masked] != 1).all())
