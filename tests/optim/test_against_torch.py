"""SGD, Adam and AdamW step by step against torch's."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from tundish import optim

from .ulps import ulps

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-2}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 1e-2}),
    ("Adam", {"lr": 1e-2, "weight_decay": 0.1, "betas": (0.4, 0.9), "eps": 1e-4}),
    ("Adam", {"lr": 1e-2, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 1e-2}),
    ("AdamW", {"lr": torch.tensor(1e-2), "weight_decay": 0.1, "maximize": True}),
]


def tensors(seed: int = 0) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(33, 17), (), (0,), (5,), (40, 1, 30, 30), (8, 4, 3, 3)]
    out = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]
    out[5] = nn.Parameter(out[5].detach().to(memory_format=torch.channels_last))
    return out


def draw_gradients(
    *lists: list[nn.Parameter], step: int, leave_out: tuple[int, ...] = (), size: float = 1.0
) -> None:
    generator = torch.Generator().manual_seed(100 + step)
    for place in range(len(lists[0])):
        gradient = size * torch.randn(lists[0][place].shape, generator=generator)
        for parameters in lists:
            parameter = parameters[place]
            filled = torch.empty_like(parameter).copy_(gradient)
            parameter.grad = None if place in leave_out else filled


def pair(name: str, arguments: dict[str, Any], **more: Any) -> tuple[Any, Any, Any, Any]:
    ours, theirs = tensors(), tensors()
    our_optimizer = getattr(optim, name)(ours, **arguments, **more)
    their_optimizer = getattr(torch.optim, name)(theirs, **arguments, foreach=False)
    return ours, theirs, our_optimizer, their_optimizer


def check_states(ours: Any, theirs: Any, our_parameters: Any, their_parameters: Any) -> None:
    for a, b in zip(our_parameters, their_parameters):
        assert set(ours.state.get(a, {})) == set(theirs.state.get(b, {}))
        for name, value in theirs.state.get(b, {}).items():
            if name == "step":
                assert float(ours.state[a][name]) == float(value)
            else:
                assert ulps(ours.state[a][name], value) <= 10


@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_200_steps_equal_torchs_within_a_few_ulps(name: str, arguments: dict[str, Any]) -> None:
    """torch fuses multiply and add, so each step may round one operation differently.

    Neither result is closer to the steps in double precision.
    """
    ours, theirs, our_optimizer, their_optimizer = pair(name, arguments)
    exact = [nn.Parameter(p.detach().double()) for p in theirs]
    exact_optimizer = getattr(torch.optim, name)(exact, **arguments, foreach=False)
    for step in range(200):
        draw_gradients(ours, theirs, step=step)
        for a, b in zip(exact, theirs):
            assert b.grad is not None
            a.grad = b.grad.double()
        our_optimizer.step()
        their_optimizer.step()
        exact_optimizer.step()
        if step == 0:
            for a, b in zip(ours, theirs):
                assert ulps(a, b) <= 1
    for a, b, c in zip(ours, theirs, exact):
        assert ulps(a, b) <= 20
        assert ulps(a, c) <= 1.3 * ulps(b, c) + 6
    # An empty tensor has no address, so it counts as a tensor without a gradient.
    ours[2:3] = theirs[2:3] = []
    check_states(our_optimizer, their_optimizer, ours, theirs)


@pytest.mark.parametrize(("name", "arguments"), CASES[1:2] + CASES[4:5])
def test_parameters_without_gradients_stay_behind(name: str, arguments: dict[str, Any]) -> None:
    ours, theirs, our_optimizer, their_optimizer = pair(name, arguments)
    patterns: list[tuple[int, ...]] = [(0, 2), (2,), (1, 2), (0, 1, 2, 3, 4, 5), (2,), (2, 4)]
    for step, leave_out in enumerate(patterns):
        draw_gradients(ours, theirs, step=step, leave_out=leave_out)
        our_optimizer.step()
        their_optimizer.step()
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 8
    check_states(our_optimizer, their_optimizer, ours, theirs)


@pytest.mark.parametrize(("name", "arguments"), CASES[1:2] + CASES[4:5] + CASES[7:8])
def test_states_can_be_exchanged_between_torch_and_the_engine(
    name: str, arguments: dict[str, Any]
) -> None:
    ours, theirs, our_optimizer, their_optimizer = pair(name, arguments)

    def run(first: int) -> None:
        for step in range(first, first + 3):
            draw_gradients(ours, theirs, step=step)
            our_optimizer.step()
            their_optimizer.step()

    run(0)
    swapped = copy.deepcopy((our_optimizer.state_dict(), their_optimizer.state_dict()))
    their_optimizer.load_state_dict(swapped[0])
    our_optimizer.load_state_dict(swapped[1])
    run(3)
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 10
    if "step" in their_optimizer.state[theirs[0]]:
        # Separate counts: torch adds 1 to each tensor.
        assert float(their_optimizer.state[theirs[0]]["step"]) == 6
        assert float(our_optimizer.state[ours[0]]["step"]) == 6


def test_groups_and_schedulers_and_added_groups_are_followed() -> None:
    ours, theirs = tensors(), tensors()
    optimizers = []
    for cls, parameters in ((optim.AdamW, ours), (torch.optim.AdamW, theirs)):
        groups = [
            {"params": parameters[:2], "lr": 0.1},
            {"params": parameters[2:4], "weight_decay": 0},
        ]
        optimizers.append(cls(groups, lr=1e-2))
    schedulers = [torch.optim.lr_scheduler.StepLR(one, 2, gamma=0.3) for one in optimizers]
    for step in range(6):
        if step == 3:
            optimizers[0].add_param_group({"params": ours[4:], "betas": (0.5, 0.9)})
            optimizers[1].add_param_group({"params": theirs[4:], "betas": (0.5, 0.9)})
            for scheduler in schedulers:
                scheduler.base_lrs.append(1e-2)
            for one in optimizers:
                one.param_groups[-1]["initial_lr"] = 1e-2
        draw_gradients(ours, theirs, step=step)
        for one, scheduler in zip(optimizers, schedulers):
            one.step()
            scheduler.step()
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 10


def test_max_norm_is_clip_grad_norm_before_the_step() -> None:
    ours, theirs, our_optimizer, their_optimizer = pair("AdamW", {"lr": 1e-2}, max_norm=0.5)
    for step in range(10):
        draw_gradients(ours, theirs, step=step, size=0.001 if step == 4 else 1.0)
        norm = nn.utils.clip_grad_norm_(theirs, 0.5)
        our_optimizer.step()
        their_optimizer.step()
        assert float(our_optimizer.grad_norm) == pytest.approx(float(norm), rel=1e-5)
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 100  # torch sums the norm in float


def test_the_average_is_torchs_exponential_average() -> None:
    ours, theirs, our_optimizer, their_optimizer = pair("SGD", {"lr": 0.1}, ema_decay=0.9)
    average = [p.detach().clone() for p in theirs]
    for step in range(10):
        draw_gradients(ours, theirs, step=step, leave_out=(3,) if step % 2 else ())
        our_optimizer.step()
        their_optimizer.step()
        torch._foreach_lerp_(average, [p.detach() for p in theirs], 0.1)
    for a, b in zip(ours, average):
        assert ulps(our_optimizer.state[a]["ema"], b) <= 8


def test_a_closure_is_called_with_gradients_on() -> None:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([parameter], lr=0.5)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) == 3
    assert torch.equal(parameter.detach(), torch.zeros(3))


def test_a_model_trains_like_with_torch() -> None:
    losses = []
    for module in (optim, torch.optim):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(288, 4)
        )
        optimizer = module.AdamW(model.parameters(), lr=1e-2)
        inputs, targets = torch.randn(16, 3, 8, 8), torch.arange(16) % 4
        for _ in range(20):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert losses[0] < 0.1
