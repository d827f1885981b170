"""16-bit parameters, gradient scalers, and side effects of a step."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import nn
from tundish import ArgumentError, optim

from .ulps import ulps

LOW = [torch.bfloat16, torch.float16]


def run(optimizer: Any, parameter: Any, steps: int, size: float = 1.0) -> None:
    generator = torch.Generator().manual_seed(7)
    for _ in range(steps):
        gradient = size * torch.randn(parameter.shape, generator=generator)
        parameter.grad = gradient.to(parameter.dtype)
        optimizer.step()


def start(dtype: Any = torch.float32, count: int = 1000) -> Any:
    weights = torch.randn(count, generator=torch.Generator().manual_seed(1))
    return nn.Parameter(weights.to(dtype))


@pytest.mark.parametrize("dtype", LOW)
def test_master_weights_make_the_steps_of_fp32(dtype: Any) -> None:
    low = start(dtype)
    reference = nn.Parameter(low.detach().float())
    optimizer = optim.AdamW([low], lr=1e-3, master_weights=True, ema_decay=0.5)
    theirs = torch.optim.AdamW([reference], lr=1e-3)
    generator = torch.Generator().manual_seed(7)
    for _ in range(20):
        low.grad = torch.randn(1000, generator=generator).to(dtype)
        reference.grad = low.grad.float()
        optimizer.step()
        theirs.step()
    master = optimizer.state[low]["master"]
    assert ulps(master, reference) <= 8
    assert torch.equal(low.detach(), master.to(dtype))
    assert optimizer.state[low]["exp_avg"].dtype == torch.float32
    assert optimizer.state[low]["ema"].dtype == torch.float32


@pytest.mark.parametrize("dtype", LOW)
def test_states_of_low_precision_parameters_are_saved_and_loaded_in_fp32(dtype: Any) -> None:
    parameter = start(dtype)
    optimizer = optim.Adam([parameter], master_weights=True)
    run(optimizer, parameter, 3)
    saved = copy.deepcopy(optimizer.state_dict())
    other = nn.Parameter(parameter.detach().clone())
    loaded = optim.Adam([other], master_weights=True)
    loaded.load_state_dict(saved)
    for one, of in ((optimizer, parameter), (loaded, other)):
        run(one, of, 3)
    for name in ("exp_avg", "exp_avg_sq", "master"):
        assert torch.equal(optimizer.state[parameter][name], loaded.state[other][name])
    theirs = torch.optim.Adam([nn.Parameter(other.detach().clone())])
    theirs.load_state_dict(saved)  # torch casts states to the parameter's type


@pytest.mark.parametrize("dtype", LOW)
def test_stochastic_rounding_keeps_small_updates_on_average(dtype: Any) -> None:
    """Updates are far below half a unit in the last place; rounding to nearest loses them all."""
    moved = []
    for stochastic in (False, True):
        torch.manual_seed(5)
        parameter = nn.Parameter(torch.full((20_000,), 1.0, dtype=dtype))
        optimizer = optim.SGD([parameter], lr=2e-5, stochastic_rounding=stochastic)
        for _ in range(100):
            parameter.grad = torch.ones_like(parameter)
            optimizer.step()
        moved.append(1 - float(parameter.detach().double().mean()))
    assert moved[0] == 0
    assert moved[1] == pytest.approx(0.002, rel=0.1)


def test_stochastic_rounding_draws_new_numbers_when_tensors_alternate() -> None:
    torch.manual_seed(5)
    parameters = [nn.Parameter(torch.full((20_000,), 1.0, dtype=torch.bfloat16)) for _ in range(2)]
    optimizer = optim.SGD(parameters, lr=2e-5, stochastic_rounding=True)
    for step in range(200):
        parameters[step % 2].grad = torch.ones_like(parameters[0])
        parameters[1 - step % 2].grad = None
        optimizer.step()
    for parameter in parameters:
        weights = parameter.detach().double()
        assert 1 - float(weights.mean()) == pytest.approx(0.002, rel=0.1)
        assert float((weights < 1).double().mean()) > 0.2  # 0.005 if always the same weight moved


def test_stochastic_rounding_is_the_same_for_the_same_seed() -> None:
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        parameter = start(torch.bfloat16)
        run(optim.SGD([parameter], lr=1e-3, stochastic_rounding=True), parameter, 3)
        results.append(parameter.detach())
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_weights_written_by_others_replace_the_master_weights() -> None:
    parameter = start(torch.bfloat16)
    optimizer = optim.SGD([parameter], lr=1e-4, master_weights=True)
    run(optimizer, parameter, 2)
    kept = optimizer.state[parameter]["master"].clone()
    with torch.no_grad():
        parameter[:10] = 5
    run(optimizer, parameter, 1, size=0.0)
    master = optimizer.state[parameter]["master"]
    assert torch.equal(master[:10], torch.full((10,), 5.0))
    assert torch.equal(master[10:], kept[10:])


def test_a_grad_scaler_skips_steps_and_divides_by_its_scale() -> None:
    ours, theirs = start(), start()
    optimizers = [optim.AdamW([ours], lr=1e-2), torch.optim.AdamW([theirs], lr=1e-2)]
    scalers = [torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2) for _ in range(2)]
    generator = torch.Generator().manual_seed(2)
    for step in range(6):
        gradient = torch.randn(1000, generator=generator)
        if step == 3:
            gradient[17] = float("inf")
        for parameter, optimizer, scaler in zip((ours, theirs), optimizers, scalers):
            scaler.scale(torch.zeros(()))  # initializes the scale
            parameter.grad = gradient * scaler.get_scale()
            before = parameter.detach().clone()
            scaler.step(optimizer)
            scaler.update()
            assert torch.equal(before, parameter.detach()) == (step == 3)
    assert scalers[0].get_scale() == scalers[1].get_scale()
    assert float(optimizers[0].state[ours]["step"]) == 5
    assert ulps(ours, theirs) <= 4


def test_gradients_are_cleared_on_request() -> None:
    parameters = [start(), nn.Parameter(torch.randn(4, 6))]
    optimizer = optim.SGD(parameters, lr=0.1, clear_gradients=True)
    parameters[0].grad = torch.ones(1000)
    parameters[1].grad = torch.ones(6, 4).t()  # another memory order
    gradients = [p.grad for p in parameters]
    optimizer.step()
    for parameter, gradient in zip(parameters, gradients):
        assert parameter.grad is gradient
        assert not gradient.any()


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_copies_train_like_the_original(how: str) -> None:
    parameter = start()
    optimizer = optim.AdamW([parameter], lr=1e-2, max_norm=3.0, ema_decay=0.9)
    run(optimizer, parameter, 3)
    twin = copy.deepcopy(optimizer) if how == "deepcopy" else pickle.loads(pickle.dumps(optimizer))
    (other,) = twin.param_groups[0]["params"]
    run(optimizer, parameter, 3)
    run(twin, other, 3)
    assert torch.equal(parameter, other)
    assert torch.equal(optimizer.state[parameter]["ema"], twin.state[other]["ema"])


def test_autograd_sees_that_a_step_changed_the_weights() -> None:
    parameter = start()
    loss = (parameter * parameter.exp()).sum()
    parameter.grad = torch.ones(1000)
    optim.SGD([parameter], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("unscale", [False, True])
def test_our_grad_scaler_equals_torchs_without_the_extra_pass(unscale: bool) -> None:
    """Skips the same steps, with the same scales and weights; a second step() call raises."""
    weights = [torch.nn.Parameter(torch.linspace(-1, 1, 100)) for _ in range(2)]
    optimizers = [optim.AdamW([weights[0]]), torch.optim.AdamW([weights[1]], fused=True)]
    scalers = [
        kind("cpu", init_scale=1024.0, growth_interval=2)
        for kind in (optim.GradScaler, torch.amp.GradScaler)
    ]
    draw = torch.Generator().manual_seed(3)
    for i in range(12):
        gradient = torch.randn(100, generator=draw)
        if i in (0, 5):
            gradient[7] = float("inf")
        for weight, optimizer, scaler in zip(weights, optimizers, scalers):
            scaler.scale(torch.zeros(()))
            weight.grad = gradient * scaler.get_scale()
            if unscale:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            with pytest.raises(RuntimeError, match="already been called"):
                scaler.step(optimizer)
            scaler.update()
        assert scalers[0].get_scale() == scalers[1].get_scale()
        assert scalers[0].state_dict() == scalers[1].state_dict()
    assert int(optimizers[0].state[weights[0]]["step"]) == 10
    torch.testing.assert_close(weights[0], weights[1], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_averaged_swaps_in_the_averages_temporarily(dtype: torch.dtype) -> None:
    weights = [torch.nn.Parameter(torch.randn(50).to(dtype)) for _ in range(2)]
    master = dtype != torch.float32
    optimizers = [optim.AdamW([w], ema_decay=0.9, master_weights=master) for w in weights]
    weights[1].data.copy_(weights[0].data)
    for i in range(6):
        gradient = torch.randn(50, generator=torch.Generator().manual_seed(i)).to(dtype)
        for weight, optimizer in zip(weights, optimizers):
            weight.grad = gradient.clone()
            optimizer.step()
        if i == 2:  # read in one of the two runs, which must not change anything
            before = weights[0].detach().clone()
            with optimizers[0].averaged():
                average = optimizers[0].state[weights[0]]["ema"]
                assert torch.equal(weights[0], average.to(dtype))
                assert not torch.equal(weights[0], before)
            assert torch.equal(weights[0], before)
    assert torch.equal(*weights)
    with pytest.raises(ArgumentError, match="ema_decay"), optim.SGD(weights).averaged():
        pass
