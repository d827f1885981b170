"""The user's optimizer works normally while tundish_optimizer is applied: steps, copies, plans."""

from __future__ import annotations

import copy
import gc
import io
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import timm.optim
import torch
from torch import nn
from tundish.tuning.step import Step
from tundish.tuning.tricks.optimizer_kernels import FusedOptimizer
from tundish.tuning.tricks.tundish_optimizer import TundishOptimizer

KINDS: list[tuple[Any, dict[str, Any]]] = [
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (torch.optim.Adam, {"lr": 0.01}),
    (torch.optim.AdamW, {"lr": 0.01, "fused": True}),
    (timm.optim.Lamb, {"lr": 0.01}),
    (timm.optim.NvNovoGrad, {"lr": 0.01}),
]
LOSS = nn.CrossEntropyLoss()
TRICK = TundishOptimizer()
Pair = tuple[Any, Any]


def make(kind: Any, options: dict[str, Any]) -> Pair:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    return model, kind(model.parameters(), **options)


def batch(number: int) -> Any:
    return torch.randn(8, 6, generator=torch.Generator().manual_seed(number)), torch.arange(8) % 3


def plain(pair: Pair, numbers: range) -> None:
    model, optimizer = pair
    for number in numbers:
        inputs, targets = batch(number)
        optimizer.zero_grad()
        LOSS(model(inputs), targets).backward()
        optimizer.step()


def tuned(step: Step, numbers: range) -> None:
    for number in numbers:
        step(batch(number))


def assert_same(ours: Pair, theirs: Pair) -> None:
    for a, b in zip(ours[0].parameters(), theirs[0].parameters()):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    saved, expected = ours[1].state_dict(), theirs[1].state_dict()
    torch.testing.assert_close(saved["state"], expected["state"], rtol=1e-4, atol=1e-6)
    options = [{**group, "params": 0} for group in saved["param_groups"]]
    assert options == [{**group, "params": 0} for group in expected["param_groups"]]


def pickled(pair: Pair) -> Pair:
    file = io.BytesIO()
    torch.save(pair, file)
    file.seek(0)
    made: Pair = torch.load(file, weights_only=False)
    return made


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_the_optimizers_own_step_still_works(kind: Any, options: dict[str, Any]) -> None:
    ours, theirs = make(kind, options), make(kind, options)
    step = Step(*ours, LOSS)
    TRICK.apply(step)
    tuned(step, range(3))
    plain(ours, range(3, 6))
    tuned(step, range(6, 8))
    plain(theirs, range(8))
    assert_same(ours, theirs)
    TRICK.undo(step)
    assert_same(ours, theirs)


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_a_copy_trains_like_the_optimizer(
    kind: Any, options: dict[str, Any], copied: Callable[[Pair], Pair]
) -> None:
    ours, theirs = make(kind, options), make(kind, options)
    step = Step(*ours, LOSS)
    TRICK.apply(step)
    tuned(step, range(3))
    other = copied(ours)
    plain(other, range(3, 6))
    plain(theirs, range(6))
    assert_same(other, theirs)
    tuned(step, range(3, 6))
    assert_same(ours, theirs)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_checkpoint_of_16_bit_parameters_has_the_types_of_the_optimizer(
    kind: Any, options: dict[str, Any]
) -> None:
    def types(pair: Pair) -> Any:
        saved = pair[1].state_dict()["state"]
        return {
            key: {name: getattr(value, "dtype", type(value)) for name, value in state.items()}
            for key, state in saved.items()
        }

    ours, theirs = make(kind, options), make(kind, options)
    for model, _ in (ours, theirs):
        model.bfloat16()
    step = Step(*ours, LOSS)
    TRICK.apply(step)
    for number in range(2):
        inputs, targets = batch(number)
        step((inputs.bfloat16(), targets))
        theirs[1].zero_grad()
        LOSS(theirs[0](inputs.bfloat16()), targets).backward()
        theirs[1].step()
    assert types(ours) == types(theirs)
    assert types((None, copy.deepcopy(ours[1]))) == types(theirs)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_two_plans_can_be_applied_at_once(kind: Any, options: dict[str, Any]) -> None:
    """A notebook cell that applies a plan runs twice."""
    ours, theirs = make(kind, options), make(kind, options)
    first, second = Step(*ours, LOSS), Step(*ours, LOSS)
    TRICK.apply(first)
    tuned(first, range(2))
    assert TRICK.obstacle(second) == ""
    TRICK.apply(second)
    tuned(second, range(2, 4))
    tuned(first, range(4, 6))
    plain(theirs, range(6))
    assert_same(ours, theirs)
    ours[1].load_state_dict(copy.deepcopy(ours[1].state_dict()))
    TRICK.undo(second)
    tuned(first, range(6, 8))
    TRICK.undo(first)
    plain(ours, range(8, 9))
    plain(theirs, range(6, 9))
    assert_same(ours, theirs)
    assert not ours[1]._optimizer_step_pre_hooks
    assert not ours[1]._optimizer_step_post_hooks


def test_a_step_that_raises_leaves_the_state_readable() -> None:
    options: dict[str, Any] = {"lr": 0.01}
    ours, theirs = make(timm.optim.NvNovoGrad, options), make(timm.optim.NvNovoGrad, options)
    step = Step(*ours, LOSS)
    TRICK.apply(step)
    tuned(step, range(2))

    def fail() -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ours[1].step(fail)
    tuned(step, range(2, 4))
    plain(theirs, range(4))
    assert_same(ours, theirs)


def test_applied_and_undone_a_norm_keeps_its_bits() -> None:
    ours = make(timm.optim.NvNovoGrad, {"lr": 0.01})
    plain(ours, range(3))
    before = [state["exp_avg_sq"].clone() for state in ours[1].state.values()]
    step = Step(*ours, LOSS)
    TRICK.apply(step)
    saved = [state["exp_avg_sq"] for state in ours[1].state_dict()["state"].values()]
    TRICK.undo(step)
    after = [state["exp_avg_sq"] for state in ours[1].state.values()]
    assert all(map(torch.equal, before, saved))
    assert all(map(torch.equal, before, after))


def test_an_optimizer_whose_plan_was_never_undone_is_freed() -> None:
    ours = make(torch.optim.AdamW, {"lr": 0.01})
    step = Step(*ours, LOSS)
    TRICK.apply(step)
    tuned(step, range(2))
    died = weakref.ref(ours[1])
    del ours, step
    gc.collect()
    assert died() is None


def test_fused_kernels_twice_leave_a_checkpoint_its_own_options() -> None:
    ours = make(torch.optim.AdamW, {"lr": 0.01, "foreach": True})
    options = [{**group, "params": 0} for group in ours[1].state_dict()["param_groups"]]
    for _ in range(2):
        FusedOptimizer().apply(Step(*ours, LOSS))
    saved = ours[1].state_dict()["param_groups"]
    assert [{**group, "params": 0} for group in saved] == options


def new_state(optimizer: Any) -> None:
    """Starts over, as recipes with restarts do. timm's Lamb counts steps in its groups."""
    optimizer.state = defaultdict(dict)
    for group in optimizer.param_groups:
        group.pop("step", None)


def new_groups(optimizer: Any) -> None:
    optimizer.param_groups = [{**group, "lr": 0.02} for group in optimizer.param_groups]


def fewer_states(optimizer: Any) -> None:
    kept = list(optimizer.state.items())[2:]
    optimizer.state = defaultdict(dict, kept)


def copied_entries(optimizer: Any) -> None:
    entries = {parameter: dict(state) for parameter, state in optimizer.state.items()}
    optimizer.state = defaultdict(dict, entries)


def copied_numbers(optimizer: Any) -> None:
    entries = {
        parameter: {key: copy.deepcopy(value) for key, value in state.items()}
        for parameter, state in optimizer.state.items()
    }
    optimizer.state = defaultdict(dict, entries)


ASSIGNMENTS = [
    (kind, options, change)
    for kind, options in KINDS
    for change in (new_state, new_groups, fewer_states, copied_entries, copied_numbers)
    if (kind, change) != (timm.optim.Lamb, fewer_states)  # timm counts steps per group
]


@pytest.mark.parametrize("own_step", [False, True])
@pytest.mark.parametrize(("kind", "options", "change"), ASSIGNMENTS)
def test_assigned_groups_and_states_are_used(
    kind: Any, options: dict[str, Any], change: Callable[[Any], None], own_step: bool
) -> None:
    ours, theirs = make(kind, options), make(kind, options)
    step = Step(*ours, LOSS)
    TRICK.apply(step)
    tuned(step, range(3))
    plain(theirs, range(3))
    change(ours[1])
    change(theirs[1])
    if own_step:
        plain(ours, range(3, 5))
    else:
        tuned(step, range(3, 5))
    plain(theirs, range(3, 5))
    assert_same(ours, theirs)
    tuned(step, range(5, 7))
    plain(theirs, range(5, 7))
    assert_same(ours, theirs)
    TRICK.undo(step)
    assert_same(ours, theirs)
