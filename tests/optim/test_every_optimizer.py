"""Features common to all optimizers: scalers, clipping, averages, copies, hooks, odd tensors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
import tundish
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from tundish import optim

from tests.helpers.optim_models import MODELS, loss_of, mlp, weights

from .every import ELEMENTWISE, EVERY, make
from .ulps import ulps


def train(model: Any, optimizer: Any, steps: range = range(20), set_to_none: bool = True) -> Any:
    for step in steps:
        optimizer.zero_grad(set_to_none=set_to_none)
        loss_of(model, "mlp", step).backward()
        optimizer.step()
    return weights(model)


def same(a: list[Any], b: list[Any]) -> bool:
    return all(map(torch.equal, a, b))


def trained(name: str, **more: Any) -> Any:
    model = mlp()
    return train(model, make(name, model.parameters(), **more))


@pytest.mark.parametrize("scaler_type", [torch.amp.GradScaler, optim.GradScaler])
@pytest.mark.parametrize("name", EVERY)
def test_a_scale_that_is_a_power_of_2_changes_no_bit(name: str, scaler_type: Any) -> None:
    model = mlp()
    optimizer = make(name, model.parameters())
    scaler = scaler_type("cpu", init_scale=4096.0, growth_interval=7)
    step = 0
    for attempt in range(22):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, "mlp", step)).backward()
        skipped = attempt in (0, 9)
        if skipped:
            next(model.parameters()).grad[0, 0] = float("nan" if attempt else "inf")
        before = weights(model)
        scaler.step(optimizer)
        scaler.update()
        assert same(before, weights(model)) == skipped
        step += not skipped
    assert same(weights(model), trained(name))


@pytest.mark.parametrize("name", EVERY)
def test_maximize_flips_the_sign_of_the_gradient(name: str) -> None:
    """maximize does not change weight decay, which still shrinks the weights."""
    model, turned = mlp(), mlp()
    plain = make(name, model.parameters())
    climbing = make(name, turned.parameters(), maximize=True, capturable=True)
    for step in range(10):
        model.zero_grad()
        loss_of(model, "mlp", step).backward()
        for a, b in zip(model.parameters(), turned.parameters()):
            b.grad = -a.grad
        plain.step()
        climbing.step()
    assert same(weights(model), weights(turned))
    assert not same(weights(model), weights(mlp()))


@pytest.mark.parametrize("name", EVERY)
def test_max_norm_is_clip_grad_norm_before_the_step(name: str) -> None:
    ours, theirs = mlp(), mlp()
    clipping = make(name, ours.parameters(), max_norm=0.3)
    plain = make(name, theirs.parameters())
    clipped = 0
    for step in range(20):
        for model in (ours, theirs):
            model.zero_grad()
        loss_of(theirs, "mlp", step).backward()
        for a, b in zip(ours.parameters(), theirs.parameters()):
            a.grad = b.grad.clone()
        norm = float(nn.utils.clip_grad_norm_(theirs.parameters(), 0.3))
        clipped += norm > 0.3
        clipping.step()
        plain.step()
        assert float(clipping.grad_norm) == pytest.approx(norm, rel=1e-5)
    assert clipped > 0
    for a, b in zip(ours.parameters(), theirs.parameters()):
        assert ulps(a, b) <= 30  # torch sums the norm in float


@pytest.mark.parametrize("name", EVERY)
def test_the_average_equals_torchs_averaged_model(name: str) -> None:
    """AveragedModel starts at its first update, and ours at the weights before the first step."""
    model = mlp()
    optimizer = make(name, model.parameters(), ema_decay=0.9)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    average.update_parameters(model)
    for step in range(20):
        train(model, optimizer, range(step, step + 1))
        average.update_parameters(model)
    for ours, theirs in zip(model.parameters(), average.module.parameters()):
        assert ulps(optimizer.state[ours]["ema"], theirs) <= 8
        assert not torch.equal(optimizer.state[ours]["ema"], ours)


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "state_dict"])
@pytest.mark.parametrize("name", EVERY)
def test_a_copy_trains_like_the_original(name: str, how: str) -> None:
    model = mlp()
    optimizer = make(name, model.parameters(), ema_decay=0.9)
    train(model, optimizer)
    if how == "deepcopy":
        twin, other = copy.deepcopy((model, optimizer))
    elif how == "pickle":
        twin, other = pickle.loads(pickle.dumps((model, optimizer)))
    else:
        twin = copy.deepcopy(model)
        other = make(name, twin.parameters(), ema_decay=0.9)
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    more = range(20, 30)
    assert same(train(model, optimizer, more), train(twin, other, more))
    averages = [
        [o.state[p]["ema"] for p in m.parameters()] for m, o in ((model, optimizer), (twin, other))
    ]
    assert same(*averages)


@pytest.mark.parametrize("name", EVERY)
def test_all_three_ways_of_clearing_gradients_are_equivalent(name: str) -> None:
    results = [trained(name)]
    model = mlp()
    results.append(train(model, make(name, model.parameters()), set_to_none=False))
    model = mlp()
    optimizer = make(name, model.parameters(), clear_gradients=True)
    for step in range(20):
        loss_of(model, "mlp", step).backward()
        optimizer.step()
    results.append(weights(model))
    assert same(results[0], results[1])
    assert same(results[0], results[2])


@pytest.mark.parametrize("name", EVERY)
def test_parameters_without_gradients_stay_as_they_are(name: str) -> None:
    """A parameter without gradients counts no steps, so later training starts at step 1."""
    torch.manual_seed(0)
    start = [torch.randn(5, 3), torch.randn(4)]
    gradients = [[torch.randn_like(one) for one in start] for _ in range(6)]

    def run(present: Any) -> list[Any]:
        parameters = [nn.Parameter(one.clone()) for one in start]
        optimizer = make(name, parameters)
        for step, drawn in enumerate(gradients):
            for place, parameter in enumerate(parameters):
                parameter.grad = drawn[place].clone() if present(step, place) else None
            optimizer.step()
        return [p.detach() for p in parameters]

    mixed = run(lambda step, place: place == 0 or step in (2, 5))
    assert torch.equal(mixed[0], run(lambda step, place: place == 0)[0])
    assert torch.equal(mixed[1], run(lambda step, place: step in (2, 5))[1])
    assert torch.equal(run(lambda step, place: place == 0)[1], start[1])


@pytest.mark.parametrize("name", EVERY)
def test_empty_tensors_are_supported(name: str) -> None:
    full, empty = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(0, 4))
    optimizer = make(name, [empty, full], max_norm=1.0, ema_decay=0.5)
    alone = nn.Parameter(torch.ones(3))
    other = make(name, [alone], max_norm=1.0)
    for _ in range(3):
        for parameter in (full, empty, alone):
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        other.step()
    assert torch.equal(full, alone)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step()
    only = make(name, [empty])
    only.step()


@pytest.mark.parametrize("name", EVERY)
def test_hooks_and_closures_are_called_in_order(name: str) -> None:
    model = mlp()
    optimizer = make(name, model.parameters())
    calls: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    optimizer.register_state_dict_post_hook(lambda *_: calls.append("saved"))
    before = weights(model)

    def closure() -> Any:
        calls.append("closure")
        optimizer.zero_grad()
        loss = loss_of(model, "mlp", 0)
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) > 0
    optimizer.state_dict()
    assert calls == ["before", "closure", "after", "saved"]
    assert not same(before, weights(model))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_flat_parameters_give_the_same_bits(name: str) -> None:
    model = mlp()
    flat = tundish.optim.flatten(model)
    optimizer = flat.optimizer(getattr(optim, name), **EVERY[name])
    assert same(train(model, optimizer), trained(name))


@pytest.mark.parametrize("name", sorted(set(EVERY) - set(ELEMENTWISE)))
def test_flat_parameters_are_refused_where_each_tensor_has_a_norm(name: str) -> None:
    model = mlp()
    flat = tundish.optim.flatten(model)
    with pytest.raises(
        tundish.ArgumentError, match=f"{name} needs the norm or shape of each tensor"
    ):
        flat.optimizer(getattr(optim, name))
    loss_of(model, "mlp", 0).backward()
    unwatched = make(name, flat.groups())
    with pytest.raises(tundish.ArgumentError, match=r"create it with model\.parameters"):
        unwatched.step()
    optimizer = make(name, model.parameters())
    assert same(train(model, optimizer), trained(name))


@pytest.mark.parametrize("name", ["SGD", "AdamW", "LAMB"])
def test_a_compiled_training_step_gives_the_same_weights(name: str) -> None:
    """The optimizer's step causes a graph break."""

    def step(model: Any, optimizer: Any, inputs: Any) -> None:
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()

    compiled = torch.compile(step, backend="aot_eager")
    results = []
    for run in (step, compiled):
        torch.manual_seed(1)
        model = nn.Linear(12, 4)
        optimizer = make(name, model.parameters())
        for _ in range(4):
            run(model, optimizer, torch.randn(3, 12))
        results.append(weights(model))
    for a, b in zip(*results):
        assert ulps(a, b) <= 4


def test_an_empty_group_works_with_our_grad_scaler() -> None:
    model = mlp()
    optimizer = optim.SGD([{"params": []}, {"params": list(model.parameters())}], lr=0.1)
    scaler = optim.GradScaler("cpu", init_scale=2.0)
    scaler.scale(loss_of(model, "mlp", 0)).backward()
    before = weights(model)
    scaler.step(optimizer)
    scaler.update()
    assert not same(before, weights(model))


def test_the_models_are_what_the_tests_need() -> None:
    """Covers a filter, a matrix, vectors and BatchNorm; C++ tests cover more than one chunk."""
    shapes = {len(p.shape) for make_model, _ in MODELS.values() for p in make_model().parameters()}
    assert shapes == {1, 2, 4}
