"""NovoGrad against the formulas of Apex's FusedNovoGrad, in double."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from tundish import optim

from .test_against_torch import draw_gradients, tensors
from .ulps import ulps

CASES: list[dict[str, Any]] = [
    {"lr": 1e-2},
    {"lr": 1e-2, "weight_decay": 0.1, "betas": (0.95, 0.5)},
    {"lr": 1e-2, "weight_decay": 0.1, "reg_inside_moment": True, "init_zero": True},
    {"lr": 1e-2, "bias_correction": False, "grad_averaging": False, "eps": 1e-3},
]


def step_by_formula(state: dict[str, Any], gradient: Any, step: int, **given: Any) -> None:
    """Computes one step of one tensor; state: weights, exp_avg, norm."""
    beta1, beta2 = given.get("betas", (0.9, 0.999))
    eps, decay = given.get("eps", 1e-8), given.get("weight_decay", 0.0)
    corrected = given.get("bias_correction", True)
    correction1 = 1 - beta1**step if corrected else 1.0
    correction2 = math.sqrt(1 - beta2**step) if corrected else 1.0
    share = 1 - beta1 if given.get("grad_averaging", True) else 1.0
    norm = float(gradient.norm())
    if step == 1 and not given.get("init_zero"):
        state["norm"] = norm
    state["norm"] = math.sqrt(beta2 * state["norm"] ** 2 + (1 - beta2) * norm**2)
    denominator = state["norm"] / correction2 + eps
    if given.get("reg_inside_moment"):
        gradient = gradient / denominator + decay * state["weights"]
        state["exp_avg"] = beta1 * state["exp_avg"] + share * gradient
        update = state["exp_avg"] / correction1
    else:
        state["exp_avg"] = beta1 * state["exp_avg"] + share * gradient
        update = state["exp_avg"] / correction1 / denominator + decay * state["weights"]
    state["weights"] = state["weights"] - given["lr"] * update


@pytest.mark.parametrize("arguments", CASES)
def test_50_steps_equal_apexs_formulas(arguments: dict[str, Any]) -> None:
    parameters = [one for one in tensors() if one.numel()]
    optimizer = optim.NovoGrad(parameters, **arguments)
    states: list[dict[str, Any]] = [
        {"weights": p.detach().double(), "exp_avg": torch.zeros_like(p).double(), "norm": 0.0}
        for p in parameters
    ]
    for step in range(1, 51):
        draw_gradients(parameters, step=step)
        for state, parameter in zip(states, parameters):
            assert parameter.grad is not None
            step_by_formula(state, parameter.grad.double(), step, **arguments)
        optimizer.step()
    for state, parameter in zip(states, parameters):
        assert ulps(parameter, state["weights"]) <= 40
        ours = optimizer.state[parameter]
        assert ulps(ours["exp_avg"], state["exp_avg"]) <= 20
        assert float(ours["exp_avg_sq"]) == pytest.approx(state["norm"], rel=1e-5)


def test_the_state_is_saved_and_loaded() -> None:
    parameters = [one for one in tensors() if one.numel()]
    optimizer = optim.NovoGrad(parameters, lr=1e-2)
    draw_gradients(parameters, step=1)
    optimizer.step()
    others = [torch.nn.Parameter(one.detach().clone()) for one in parameters]
    loaded = optim.NovoGrad(others, lr=1e-2)
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for one, of in ((optimizer, parameters), (loaded, others)):
        draw_gradients(of, step=2)
        one.step()
    for a, b in zip(parameters, others):
        assert torch.equal(a, b)


def test_other_norms_are_refused() -> None:
    with pytest.raises(ValueError, match="norm_type must be 2"):
        optim.NovoGrad([torch.nn.Parameter(torch.ones(1))], norm_type=0)
