"""torch's hooks for state_dict() and load_state_dict()."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from tundish import optim

NAMES = ["SGD", "AdamW", "NovoGrad", "Muon"]


def stepped(name: str, dtype: torch.dtype = torch.bfloat16) -> tuple[nn.Parameter, Any]:
    parameter = nn.Parameter(torch.ones(4, 4, dtype=dtype))
    more = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(optim, name)([parameter], lr=0.1, **more)
    parameter.grad = torch.full_like(parameter, 0.3)
    optimizer.step()
    return parameter, optimizer


@pytest.mark.parametrize("name", NAMES)
def test_hooks_may_wrap_a_state_and_unwrap_it(name: str) -> None:
    parameter, optimizer = stepped(name)
    plain = optimizer.state_dict()
    optimizer.register_state_dict_post_hook(lambda _, saved: {"wrapped": saved})
    wrapped = copy.deepcopy(optimizer.state_dict())
    assert wrapped["wrapped"]["param_groups"][0].keys() == plain["param_groups"][0].keys()
    optimizer.register_load_state_dict_pre_hook(lambda _, saved: saved["wrapped"])
    for state in wrapped["wrapped"]["state"].values():
        for value in state.values():
            value += 1
    optimizer.load_state_dict(wrapped)
    for key, value in plain["state"][0].items():
        assert torch.equal(optimizer.state[parameter][key], wrapped["wrapped"]["state"][0][key])
        assert optimizer.state[parameter][key].dtype == value.dtype
    optimizer.step()


def test_what_a_pre_hook_made_is_loaded_and_checked() -> None:
    parameter, optimizer = stepped("AdamW")
    saved = copy.deepcopy(optimizer.state_dict())

    def zero(_: Any, given: Any) -> Any:
        given = copy.deepcopy(given)
        given["state"][0]["exp_avg"].zero_()
        return given

    optimizer.register_load_state_dict_pre_hook(zero)
    optimizer.load_state_dict(saved)
    assert not optimizer.state[parameter]["exp_avg"].any()
    optimizer.register_load_state_dict_pre_hook(lambda *_: {"state": {}})
    with pytest.raises(ValueError, match="not the state of an optimizer"):
        optimizer.load_state_dict(saved)


def test_what_a_post_hook_writes_stays() -> None:
    parameter, optimizer = stepped("AdamW")
    seen = []

    def zero(own: Any) -> None:
        seen.append(own.state[parameter]["exp_avg"].dtype)
        own.state[parameter]["exp_avg"] = torch.zeros(4, 4)

    optimizer.register_load_state_dict_post_hook(zero)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert seen == [torch.float32]
    assert not optimizer.state[parameter]["exp_avg"].any()


@pytest.mark.parametrize("name", NAMES)
def test_no_hook_is_left_behind(name: str) -> None:
    _, optimizer = stepped(name)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    with pytest.raises(ValueError, match="not the state of an optimizer"):
        optimizer.load_state_dict({})
    with pytest.raises(ValueError, match="not the state of an optimizer"):
        optimizer.load_state_dict(None)
    assert not optimizer._optimizer_state_dict_post_hooks
    assert not optimizer._optimizer_load_state_dict_pre_hooks
    assert not optimizer._optimizer_load_state_dict_post_hooks


@pytest.mark.parametrize("name", [*NAMES, "Adam", "Lion", "LARS", "LAMB"])
def test_a_value_that_a_wrapper_keeps_in_the_state_is_saved_and_loaded(name: str) -> None:
    """timm's Lookahead keeps its slow weights in the states of the optimizer that it wraps."""
    parameter, optimizer = stepped(name)
    optimizer.state[parameter]["lookahead_slow_buff"] = torch.full_like(parameter, 2.0)
    saved = copy.deepcopy(optimizer.state_dict())
    other, resumed = stepped(name)
    resumed.load_state_dict(saved)
    kept = resumed.state[other]
    assert kept.keys() == optimizer.state[parameter].keys()
    assert torch.equal(kept["lookahead_slow_buff"], torch.full_like(parameter, 2.0))
    resumed.step()


def test_slow_weights_beside_an_optimizer_without_states_are_loaded() -> None:
    parameter = nn.Parameter(torch.ones(4))
    optimizer = optim.SGD([parameter], lr=0.1)
    optimizer.state[parameter]["lookahead_slow_buff"] = torch.zeros(4)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert set(optimizer.state[parameter]) == {"lookahead_slow_buff"}


def test_an_option_of_the_users_groups_does_not_make_a_state_foreign() -> None:
    """SAM keeps rho, which is also an option of Adadelta, in the groups of the optimizer that it wraps."""
    parameter = nn.Parameter(torch.ones(4))
    optimizer = optim.SGD([{"params": [parameter], "rho": 0.05}], lr=0.1)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert optimizer.param_groups[0]["rho"] == 0.05
    with pytest.raises(ValueError, match="has rho: it is the state of another optimizer"):
        optim.SGD([parameter], lr=0.1).load_state_dict(optimizer.state_dict())
