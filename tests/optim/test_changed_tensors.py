"""Parameters and states that are replaced, moved, resized or deleted between two steps."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch import nn
from tundish import optim
from tundish.optim._binding import torch_functions

from .every import EVERY, make
from .ulps import ulps

KEPT: list[Any] = []
COUNT = (
    40_000  # more than malloc caches: freed memory is unmapped, so a step on old pointers crashes
)


def parameters(count: int = COUNT) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    return [nn.Parameter(torch.randn(n, generator=generator)) for n in (count, 7, 33)]


def step(optimizer: Any, number: int) -> None:
    generator = torch.Generator().manual_seed(number)
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer.step()


def clear(optimizer: Any) -> None:
    optimizer.state.clear()


def replace_all(optimizer: Any) -> None:
    """Replaces the state by a new, empty dictionary."""
    optimizer.state = type(optimizer.state)(dict)


def forget_one(optimizer: Any) -> None:
    del optimizer.state[optimizer.param_groups[0]["params"][1]]


def empty_one(optimizer: Any) -> None:
    optimizer.state[optimizer.param_groups[0]["params"][1]] = {}


def zero_the_middle(optimizer: Any) -> None:
    """Puts new tensors into the same dictionary."""
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]
    for key, value in state.items():
        if isinstance(value, torch.Tensor) and key != "step":
            state[key] = torch.zeros_like(value)


def zero_one_state(optimizer: Any) -> None:
    """Replaces a state while another reference keeps the old tensor alive."""
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]
    for key in ("momentum_buffer", "exp_avg_sq"):
        if key in state:
            KEPT.append(state[key])
            state[key] = torch.zeros_like(state[key])


def other_memory_of_one(optimizer: Any) -> None:
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]
    for key in ("momentum_buffer", "exp_avg_sq"):
        if key in state:
            state[key].data = torch.zeros_like(state[key])


def other_step_of_one(optimizer: Any) -> None:
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]
    if "step" in state:
        state["step"] = torch.zeros_like(state["step"])


def to_another_place(optimizer: Any) -> None:
    """Clones states, as a move to the CPU and back would."""
    for state in optimizer.state.values():
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                state[key] = value.clone()


def other_memory(optimizer: Any) -> None:
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, torch.Tensor):
                value.data = value.data.clone()


CHANGES = [
    clear,
    replace_all,
    forget_one,
    empty_one,
    zero_the_middle,
    zero_one_state,
    other_memory_of_one,
    other_step_of_one,
    to_another_place,
    other_memory,
]


@pytest.mark.parametrize("table", [torch_functions.TABLE, None])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_states_changed_externally_are_followed_like_in_torch(
    name: str, change: Any, table: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tundish.optim._binding.engine_calls.TABLE", table)
    ours, theirs = parameters(), parameters()
    optimizers = [
        getattr(module, name)(of, **EVERY[name])
        for module, of in ((optim, ours), (torch.optim, theirs))
    ]
    for optimizer in optimizers:
        step(optimizer, 0)
        step(optimizer, 1)
        change(optimizer)
        step(optimizer, 2)
        step(optimizer, 3)
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 8
        for key, value in optimizers[1].state[b].items():
            assert ulps(torch.as_tensor(optimizers[0].state[a][key]), torch.as_tensor(value)) <= 8


@pytest.mark.parametrize("change", [to_another_place, other_memory])
@pytest.mark.parametrize("name", EVERY)
def test_moved_states_change_nothing(name: str, change: Any) -> None:
    results = []
    for moves in (False, True):
        own = parameters(100)
        optimizer = make(name, own, ema_decay=0.9)
        for number in range(6):
            step(optimizer, number)
            if moves:
                change(optimizer)
        results.append([*own, *(optimizer.state[p]["ema"] for p in own)])
    assert all(map(torch.equal, *results))


def test_a_step_count_that_was_written_is_used() -> None:
    for write in (lambda s: s["step"].zero_(), lambda s: s.update(step=torch.tensor(0.0))):
        ours, theirs = parameters()[:1], parameters()[:1]
        for optimizer, of in ((optim.AdamW(ours), ours), (torch.optim.AdamW(theirs), theirs)):
            step(optimizer, 0)
            step(optimizer, 1)
            write(optimizer.state[of[0]])
            step(optimizer, 2)
            assert float(optimizer.state[of[0]]["step"]) == 1
        assert ulps(ours[0], theirs[0]) <= 8


def replace_the_group(optimizer: Any) -> None:
    optimizer.param_groups[0] = {**optimizer.param_groups[0], "lr": 0.0}


def move_to_the_next_group(optimizer: Any) -> None:
    first, second = (group["params"] for group in optimizer.param_groups)
    second.insert(0, first.pop())


def swap_groups(optimizer: Any) -> None:
    optimizer.param_groups.reverse()


def transpose_the_matrix(optimizer: Any) -> None:
    parameter = optimizer.param_groups[0]["params"][0]
    parameter.grad = None
    parameter.data = parameter.data.t()


def new_object(optimizer: Any) -> None:
    own = optimizer.param_groups[0]["params"]
    own[0] = nn.Parameter(own[0].data)


@pytest.mark.parametrize("table", [torch_functions.TABLE, None])
@pytest.mark.parametrize(
    "change",
    [
        replace_the_group,
        move_to_the_next_group,
        swap_groups,
        transpose_the_matrix,
        new_object,
    ],
)
def test_changed_groups_are_followed_as_in_torch(change: Any, table: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("tundish.optim._binding.engine_calls.TABLE", table)
    results = []
    for cls in (optim.SGD, torch.optim.SGD):
        torch.manual_seed(5)
        own = [nn.Parameter(torch.randn(4, 4)) for _ in range(4)]
        groups = [{"params": own[:2], "lr": 0.1}, {"params": own[2:], "lr": 0.01}]
        optimizer = cls(groups, momentum=0.9)
        step(optimizer, 0)
        step(optimizer, 1)
        change(optimizer)
        step(optimizer, 2)
        step(optimizer, 3)
        results.append(own)
    assert all(ulps(a, b) <= 8 for a, b in zip(*results))


def test_a_momentum_may_start_later() -> None:
    ours, theirs = parameters(), parameters()
    for cls, of in ((optim.SGD, ours), (torch.optim.SGD, theirs)):
        optimizer = cls(of, lr=0.1)
        for number, momentum in enumerate((0, 0.9, 0.9, 0, 0.5)):
            optimizer.param_groups[0]["momentum"] = momentum
            step(optimizer, number)
    for a, b in zip(ours, theirs):
        assert ulps(a, b) <= 8


@pytest.mark.parametrize("sizes", [(100, 50), (50, 100)])
def test_a_parameter_may_shrink_or_grow_in_place(sizes: tuple[int, int]) -> None:
    memory = torch.zeros(100)
    parameter = nn.Parameter(memory[: sizes[0]])
    optimizer = optim.SGD([parameter], lr=1.0)
    for size in sizes:
        parameter.grad = None
        parameter.data = memory[:size]
        parameter.grad = torch.ones(size)
        optimizer.step()
    assert torch.equal(memory[:50], torch.full((50,), -2.0))
    assert torch.equal(memory[50:], torch.full((50,), -1.0))


def test_a_state_of_another_size_is_refused_by_name() -> None:
    memory = torch.zeros(100)
    parameter = nn.Parameter(memory)
    optimizer = optim.AdamW([("head.weight", parameter)])
    step(optimizer, 0)
    parameter.grad = None
    parameter.data = memory[:50]
    with pytest.raises(ValueError, match=r"\(head.weight\) has the shape \(100,\)"):
        step(optimizer, 1)


def test_memory_of_replaced_states_is_not_kept() -> None:
    parameter = nn.Parameter(torch.zeros(10))
    optimizer = optim.AdamW([parameter])
    step(optimizer, 0)
    freed = []
    weakref.finalize(optimizer.state[parameter]["exp_avg"], freed.append, True)
    optimizer.state[parameter]["exp_avg"] = optimizer.state[parameter]["exp_avg"].clone()
    assert freed == [True]
