"""set_default_dtype() and set_default_device() do not change the engine's float32 or device."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from timm.optim import Lamb
from torch import nn
from tundish import optim

from .ulps import ulps

DTYPES = (torch.bfloat16, torch.float16, torch.float64)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def parameters() -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    return [
        nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float32))
        for shape in ((5, 4), (4, 4))
    ]


def train(optimizer: Any, weights: list[Any], steps: int, factor: float = 1.0) -> None:
    generator = torch.Generator().manual_seed(5)
    for _ in range(steps):
        for weight in weights:
            drawn = torch.randn(weight.shape, generator=generator, dtype=torch.float32)
            weight.grad = drawn * factor
        optimizer.step()


@pytest.mark.parametrize(("dtype", "steps"), [(torch.bfloat16, 300), (torch.float16, 2060)])
def test_steps_are_counted_beyond_what_the_default_dtype_can_count(dtype: Any, steps: int) -> None:
    ours, theirs = parameters(), parameters()
    with default_dtype(dtype):
        optimizer = optim.AdamW(ours, lr=1e-4)
        train(optimizer, ours, steps)
        train(torch.optim.AdamW(theirs, lr=1e-4), theirs, steps)
    assert optimizer.state[ours[0]]["step"].dtype == torch.float32
    assert float(optimizer.state[ours[0]]["step"]) == steps
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 100


@pytest.mark.parametrize("dtype", DTYPES)
def test_grad_norm_is_a_float32(dtype: Any) -> None:
    weights = parameters()
    with default_dtype(dtype):
        optimizer = optim.SGD(weights, lr=0.1, max_norm=1.0)
        train(optimizer, weights, 1)
    expected = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in weights]))
    torch.testing.assert_close(optimizer.grad_norm, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [1.0, float("inf")])
def test_infinities_reach_the_grad_scaler(dtype: Any, value: float) -> None:
    weights = parameters()
    before = weights[0].detach().clone()
    with default_dtype(dtype):
        optimizer = optim.SGD(weights, lr=0.1)
        scaler = optim.GradScaler("cpu", init_scale=4.0)
        scaler.scale(torch.ones((), dtype=torch.float32))
        for weight in weights:
            weight.grad = torch.full_like(weight, value)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == (4.0 if value == 1.0 else 2.0)
    assert torch.equal(before, weights[0]) == (value != 1.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_count_of_a_group_is_read_exactly(dtype: Any) -> None:
    theirs, ours = parameters(), parameters()
    other = Lamb(theirs, lr=1e-3)
    train(other, theirs, 1)
    saved = copy.deepcopy(other.state_dict())
    saved["param_groups"][0]["step"] = torch.tensor(1001.0)
    with default_dtype(dtype):
        optimizer = optim.LAMB(ours, lr=1e-3)
        optimizer.load_state_dict(saved)
        train(optimizer, ours, 1)
    assert float(optimizer.state[ours[0]]["step"]) == 1002


@pytest.mark.parametrize("dtype", DTYPES)
def test_muon_under_a_scaler_has_its_learning_rate(dtype: Any) -> None:
    found = []
    for one in (torch.float32, dtype):
        weights = parameters()
        with default_dtype(one):
            optimizer = optim.Muon(weights, lr=0.0213)
            scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
            scaler.scale(torch.ones((), dtype=torch.float32))
            for weight in weights:
                weight.grad = weight.detach() * 2
            scaler.step(optimizer)
        found.append(weights[0].detach())
    assert torch.equal(*found)


def test_a_loaded_count_is_on_the_cpu_whatever_the_default_device_is() -> None:
    weights = parameters()
    optimizer = optim.LAMB(weights, lr=1e-3)
    train(optimizer, weights, 2)
    saved = copy.deepcopy(optimizer.state_dict())
    for state in saved["state"].values():
        del state["step"]
    torch.set_default_device("meta")
    try:
        optimizer.load_state_dict(saved)
        optimizer.step()
    finally:
        torch.set_default_device(None)
    assert float(optimizer.state[weights[0]]["step"]) == 3
