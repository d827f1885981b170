"""tundish.optim.GradScaler against torch.amp.GradScaler, on random programs."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from tundish import optim

OPTIMIZERS = {
    "torch": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "ours": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "ours, Muon": lambda p: optim.Muon(p, lr=0.1),
}


def attempt(call: Any) -> Any:
    """Returns the result, or the error's type and text."""
    try:
        return call()
    except (RuntimeError, AssertionError, ValueError) as error:
        return type(error).__name__, str(error)


def run(kind: Any, make: Any, enabled: bool, seed: int) -> list[Any]:
    """Returns everything that a random program of scaler calls makes observable."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    parameters = [torch.nn.Parameter(torch.randn(3, 2)) for _ in range(2)]
    optimizer = make(parameters)
    scaler = kind("cpu", init_scale=64.0, growth_interval=2, enabled=enabled)
    seen: list[Any] = []
    for _ in range(30):
        call = draw.choice(["backward", "backward", "unscale", "step", "step", "update", "other"])
        if call == "backward":
            optimizer.zero_grad()
            used = parameters[: draw.choice([1, 2])]
            scaler.scale(sum(p.square().sum() for p in used)).backward()
            if draw.random() < 0.3:
                parameters[0].grad[0, 0] = float("inf")
        elif call == "unscale":
            seen.append(attempt(lambda: scaler.unscale_(optimizer)))
        elif call == "step":
            seen.append(attempt(lambda: scaler.step(optimizer)))
        elif call == "update":
            seen.append(attempt(scaler.update))
        else:
            seen.append(attempt(scaler.get_scale))
            seen.append((scaler.is_enabled(), attempt(scaler.state_dict)))
            scaler.load_state_dict(scaler.state_dict()) if scaler.state_dict() else None
            seen.append(attempt(lambda: scaler.step(optimizer, closure=lambda: 3.0)))
        seen.append([p.detach().clone() for p in parameters])
    return seen


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) or bool(torch.allclose(a, b, equal_nan=True))
    return bool(a == b)


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_random_programs_behave_like_with_torchs_scaler(name: str, enabled: bool) -> None:
    for seed in range(12):
        ours = run(optim.GradScaler, OPTIMIZERS[name], enabled, seed)
        theirs = run(torch.amp.GradScaler, OPTIMIZERS[name], enabled, seed)
        assert equal(ours, theirs), seed


def test_a_disabled_scaler_steps_the_optimizer() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.ones(3)
    optim.GradScaler("cpu", enabled=False).step(optim.SGD([parameter], lr=0.5))
    assert parameter.tolist() == [0.5] * 3


@pytest.mark.parametrize("kind", [optim.SGD, optim.AdamW, optim.LAMB, optim.NovoGrad, optim.Lion])
def test_an_empty_gradient_may_become_none(kind: Any) -> None:
    for shapes in ([(0,), (0,)], [(3,), (0,)], [(0, 2)]):
        parameters = [torch.nn.Parameter(torch.ones(shape)) for shape in shapes]
        optimizer = kind(parameters, lr=0.1)
        for present in (True, True, False, True, False, False):
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter)
            parameters[-1].grad = torch.ones_like(parameters[-1]) if present else None
            optimizer.step()
        assert all(bool(torch.isfinite(p).all()) for p in parameters)
