"""Weights without gradients for some steps: averages, step counts, skipped first steps."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from timm.optim import Lars
from torch import nn
from tundish import optim

from .every import make
from .ulps import ulps


def two(seed: int = 3) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(n, generator=generator)) for n in (40, 7)]


def step(optimizer: Any, weights: list[Any], number: int, have: int) -> None:
    """Makes a step in which only the first `have` weights get a gradient."""
    generator = torch.Generator().manual_seed(number)
    for place, weight in enumerate(weights):
        drawn = torch.randn(weight.shape, generator=generator)
        weight.grad = drawn if place < have else None
    optimizer.step()


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_a_weight_without_updates_starts_at_step_1_after_loading(name: str) -> None:
    """A state with only an average used to be read as if the weight had made all steps."""
    ours, theirs = two(), two()
    optimizer = make(name, ours, ema_decay=0.9)
    other = getattr(torch.optim, name)(theirs, lr=3e-3)
    for number in range(5):
        step(optimizer, ours, number, 1)
        step(other, theirs, number, 1)
    saved = copy.deepcopy(optimizer.state_dict())
    optimizer = make(name, ours, ema_decay=0.9)
    optimizer.load_state_dict(saved)
    for number in range(5, 8):
        step(optimizer, ours, number, 2)
        step(other, theirs, number, 2)
    assert float(optimizer.state[ours[0]]["step"]) == 8
    assert float(optimizer.state[ours[1]]["step"]) == 3
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 20


def test_an_old_state_with_only_averages_starts_at_step_1_too() -> None:
    ours = two()
    optimizer = make("AdamW", ours, ema_decay=0.9)
    step(optimizer, ours, 0, 1)
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][1] = {"ema": ours[1].detach().clone()}
    optimizer.load_state_dict(saved)
    step(optimizer, ours, 1, 2)
    assert [float(optimizer.state[weight]["step"]) for weight in ours] == [2, 1]


def test_a_state_with_only_averages_loads_into_torchs_optimizer() -> None:
    weights = two()
    optimizer = make("AdamW", weights, ema_decay=0.9)
    step(optimizer, weights, 0, 1)
    other = torch.optim.AdamW(weights)
    other.load_state_dict(optimizer.state_dict())
    step(other, weights, 1, 2)
    assert [float(other.state[weight]["step"]) for weight in weights] == [2, 1]


def test_a_frozen_weight_has_no_average_and_stays_in_averaged() -> None:
    weights = two()
    optimizer = make("SGD", weights, ema_decay=0.9)
    step(optimizer, weights, 0, 1)
    assert "ema" in optimizer.state[weights[0]]
    assert weights[1] not in optimizer.state
    before = weights[1].detach().clone()
    with optimizer.averaged():
        assert torch.equal(weights[1], before)
        assert torch.equal(weights[0], optimizer.state[weights[0]]["ema"])


def test_an_average_goes_on_while_its_weight_has_no_gradient() -> None:
    weights = two()
    optimizer = make("SGD", weights, ema_decay=0.5)
    step(optimizer, weights, 0, 2)
    before = optimizer.state[weights[1]]["ema"].clone()
    step(optimizer, weights, 1, 1)
    expected = 0.5 * before + 0.5 * weights[1].detach()
    torch.testing.assert_close(optimizer.state[weights[1]]["ema"], expected)


def test_a_step_in_nested_averages_is_refused() -> None:
    weights = two()
    optimizer = make("SGD", weights, ema_decay=0.5)
    step(optimizer, weights, 0, 2)
    with optimizer.averaged():
        with optimizer.averaged():
            pass
        with pytest.raises(ValueError, match="inside averaged"):
            optimizer.step()


@pytest.mark.parametrize("kind", ["SGD", "LARS"])
@pytest.mark.parametrize("between", ["nothing", "load", "gradients"])
def test_a_first_step_skipped_by_a_scaler_does_not_count(kind: str, between: str) -> None:
    """The next step starts the momentum with its gradient, without dampening."""
    options = {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}
    ours, theirs = two(), two()
    optimizer = getattr(optim, kind)(ours, **options)
    other = torch.optim.SGD(theirs, **options) if kind == "SGD" else Lars(theirs, **options)
    scaler = optim.GradScaler("cpu", init_scale=2.0)
    scaler.scale(torch.ones(()))
    for weight in ours:
        weight.grad = torch.full_like(weight, float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert not any(optimizer.state.get(weight) for weight in ours)
    if between == "load":
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for number in range(3):
        have = 1 if between == "gradients" and number == 0 else 2
        step(optimizer, ours, number, have)
        step(other, theirs, number, have)
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 30


@pytest.mark.parametrize("kind", ["SGD", "LARS"])
def test_without_momentum_there_is_no_state(kind: str) -> None:
    weights = two()
    optimizer = getattr(optim, kind)(weights, lr=0.1)
    step(optimizer, weights, 0, 2)
    assert optimizer.state_dict()["state"] == {}
