"""Loads and saves states of Apex's FusedAdam, FusedLAMB, FusedSGD and FusedNovoGrad.

Apex needs a GPU and a compiler, so the format follows the source of its state_dict(). The group
holds the step count. FusedNovoGrad's group also holds the norms, in one tensor for float16 and one
tensor for float32.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from tundish import ArgumentError, optim

from .test_against_torch import draw_gradients, tensors
from .ulps import ulps

# Group entries that Apex's constructors create.
GROUP_OF_APEX = {
    "AdamW": ("lr", "bias_correction", "betas", "eps", "weight_decay"),
    "LAMB": (
        "lr",
        "bias_correction",
        "betas",
        "eps",
        "weight_decay",
        "grad_averaging",
        "max_grad_norm",
    ),
    "NovoGrad": (
        "lr",
        "bias_correction",
        "betas",
        "eps",
        "weight_decay",
        "grad_averaging",
        "norm_type",
        "init_zero",
    ),
    "SGD": ("lr", "momentum", "dampening", "weight_decay", "nesterov"),
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "AdamW": {"lr": 1e-2},
    "LAMB": {"lr": 1e-2},
    "NovoGrad": {"lr": 1e-2, "weight_decay": 0.1},
    "SGD": {"lr": 0.1, "momentum": 0.9},
}


def used(dtype: Any = torch.float32) -> list[nn.Parameter]:
    return [nn.Parameter(one.detach().to(dtype)) for one in tensors() if one.numel()]


def run(optimizer: Any, parameters: list[Any], steps: range) -> None:
    for step in steps:
        draw_gradients(parameters, step=step)
        optimizer.step()


def as_apex(optimizer: Any, name: str, steps: int) -> dict[str, Any]:
    """Converts the state of a Tundish optimizer to Apex's form."""
    (group,) = optimizer.param_groups
    states: dict[int, dict[str, Any]] = {}
    norms: tuple[list[float], list[float]] = [], []
    for place, parameter in enumerate(group["params"]):
        state = optimizer.state[parameter]
        own = [key for key in ("exp_avg", "exp_avg_sq", "momentum_buffer") if key in state]
        if name == "NovoGrad":
            own = ["exp_avg"]
            norms[parameter.dtype != torch.float16].append(float(state["exp_avg_sq"]))
        kind = parameter.dtype if name == "NovoGrad" else torch.float32
        states[place] = {key: state[key].to(kind, copy=True) for key in own}
    out = {key: group.get(key, True) for key in GROUP_OF_APEX[name]}
    if name == "NovoGrad":
        out["exp_avg_sq"] = [torch.tensor(one) for one in norms]
    if name != "SGD":
        out["step"] = steps
    return {"state": states, "param_groups": [{**out, "params": list(range(len(states)))}]}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_training_continues_from_an_apex_state(name: str) -> None:
    straight, loaded = used(), used()
    one = getattr(optim, name)(straight, **ARGUMENTS[name])
    run(one, straight, range(4))
    saved = as_apex(one, name, 4)
    with torch.no_grad():
        for a, b in zip(loaded, straight):
            a.copy_(b)
    other = getattr(optim, name)(loaded, **ARGUMENTS[name])
    other.load_state_dict(saved)
    assert saved["param_groups"][0].get("step", 4) == 4  # the caller's state is unchanged
    assert all("step" not in state for state in saved["state"].values())
    run(one, straight, range(4, 8))
    run(other, loaded, range(4, 8))
    assert all(map(torch.equal, straight, loaded))
    if name != "SGD":
        assert int(other.state[loaded[0]]["step"]) == 8


def test_norms_of_two_dtypes_are_assigned_to_their_parameters() -> None:
    def mixed() -> list[nn.Parameter]:
        generator = torch.Generator().manual_seed(3)
        kinds = [torch.float16, torch.float32, torch.float16, torch.float32]
        return [nn.Parameter(torch.randn(50, generator=generator).to(kind)) for kind in kinds]

    straight, loaded = mixed(), mixed()
    one = optim.NovoGrad(straight, lr=1e-2)
    run(one, straight, range(2))
    other = optim.NovoGrad(loaded, lr=1e-2)
    other.load_state_dict(as_apex(one, "NovoGrad", 2))
    for a, b in zip(straight, loaded):
        assert float(other.state[b]["exp_avg_sq"]) == float(one.state[a]["exp_avg_sq"])


@pytest.mark.parametrize("name", ["Adam", "AdamW", "LAMB", "NVLAMB", "NovoGrad"])
def test_apex_and_timm_find_the_count_of_steps_in_the_group(name: str) -> None:
    parameters = used()
    optimizer = getattr(optim, name)(parameters, lr=1e-2)
    assert optimizer.state_dict()["param_groups"][0]["step"] == 0
    run(optimizer, parameters, range(3))
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["step"] == 3
    assert "step" not in optimizer.param_groups[0]  # the optimizer's own group does not count steps


def test_apex_finds_the_norms_in_the_group() -> None:
    parameters = [*used(torch.float16)[:2], *used()[2:]]
    optimizer = optim.NovoGrad(parameters, lr=1e-2)
    assert "exp_avg_sq" not in optimizer.state_dict()["param_groups"][0]
    run(optimizer, parameters, range(3))
    saved = optimizer.state_dict()
    halves, floats = saved["param_groups"][0]["exp_avg_sq"]
    norms = [float(optimizer.state[p]["exp_avg_sq"]) for p in parameters]
    assert halves.tolist() == norms[:2]
    assert floats.tolist() == norms[2:]
    again = optim.NovoGrad(copy.deepcopy(parameters))
    again.load_state_dict(copy.deepcopy(saved))
    assert "exp_avg_sq" not in again.param_groups[0]


def test_torch_continues_from_a_state_with_a_step_count_in_its_group() -> None:
    ours, theirs = used(), used()
    optimizer = optim.AdamW(ours, lr=1e-2)
    run(optimizer, ours, range(3))
    other = torch.optim.AdamW(theirs, lr=1e-2)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    with torch.no_grad():
        for a, b in zip(theirs, ours):
            a.copy_(b)
    run(optimizer, ours, range(3, 6))
    run(other, theirs, range(3, 6))
    assert max(map(ulps, ours, theirs)) <= 10


def test_states_that_do_not_fit_are_refused() -> None:
    parameters = used()
    novograd = optim.NovoGrad(parameters, lr=1e-2)
    run(novograd, parameters, range(1))
    saved = as_apex(novograd, "NovoGrad", 1)
    with pytest.raises(ArgumentError, match="group 0: it is the state of NovoGrad"):
        optim.AdamW(parameters).load_state_dict(saved)
    saved["param_groups"][0]["exp_avg_sq"][1] = torch.ones(2)
    with pytest.raises(ArgumentError, match="group 0 has 2 norms for 5 parameters"):
        optim.NovoGrad(parameters).load_state_dict(saved)
    adamw = optim.AdamW(parameters)
    run(adamw, parameters, range(1))
    saved = as_apex(adamw, "AdamW", 1)
    saved["param_groups"][0]["bias_correction"] = False
    with pytest.raises(ArgumentError, match="bias_correction=False, which is not supported"):
        optim.AdamW(parameters).load_state_dict(saved)


@pytest.mark.parametrize("name", ["LAMB", "AdamW", "NovoGrad"])
def test_steps_that_a_group_counted_alone_are_kept(name: str) -> None:
    """timm and Apex advance the count of the group and leave the parameters' counts behind."""
    parameters = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    optimizer = getattr(optim, name)(parameters, lr=0.1)
    for step in range(4):
        for place, parameter in enumerate(parameters):
            parameter.grad = torch.ones(3) if step >= place else None
        optimizer.step()
    saved = optimizer.state_dict()
    saved["param_groups"][0]["step"] = torch.tensor(9.0)  # five more steps by another optimizer
    optimizer.load_state_dict(saved)
    assert [int(optimizer.state[p]["step"]) for p in parameters] == [9, 8]
    assert int(optimizer.state_dict()["param_groups"][0]["step"]) == 9


@pytest.mark.parametrize("name", ["Adam", "AdamW", "LAMB", "NovoGrad"])
def test_counts_that_the_user_reset_stay_reset(name: str) -> None:
    parameters = used()
    optimizer = getattr(optim, name)(parameters, lr=1e-2)
    run(optimizer, parameters, range(5))
    saved = copy.deepcopy(optimizer.state_dict())
    for state in saved["state"].values():
        state["step"] = torch.zeros(())
    optimizer.load_state_dict(saved)
    assert {int(optimizer.state[p]["step"]) for p in parameters} == {0}


def test_a_restart_in_torch_is_kept() -> None:
    ours, theirs = used(), used()
    optimizer = optim.AdamW(ours, lr=1e-2)
    run(optimizer, ours, range(5))
    other = torch.optim.AdamW(theirs, lr=1e-2)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    other.state.clear()
    run(other, theirs, range(2))
    optimizer.load_state_dict(copy.deepcopy(other.state_dict()))
    assert {int(optimizer.state[p]["step"]) for p in ours} == {2}
