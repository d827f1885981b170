"""Parameters and gradients of all kinds are handled or raise an error that names the parameter."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
import timm.optim
import torch
import tundish
from torch import nn
from tundish import optim


def stepped(*parameters: Any, **more: Any) -> Any:
    optimizer = optim.AdamW(parameters, **more)
    optimizer.step()
    return optimizer


def with_gradient(tensor: Any) -> nn.Parameter:
    parameter = nn.Parameter(tensor)
    parameter.grad = torch.ones_like(parameter)
    return parameter


def test_importing_tundish_does_not_import_torch() -> None:
    code = "import sys, tundish; assert 'torch' not in sys.modules; tundish.optim.AdamW, tundish.optim.flatten"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_sparse_gradient_is_refused_by_name() -> None:
    embedding = nn.Embedding(10, 4, sparse=True)
    optimizer = optim.AdamW(embedding.named_parameters())
    embedding(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(tundish.ArgumentError, match=r"parameter 0 of group 0 \(weight\) is sparse"):
        optimizer.step()


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int32])
def test_other_types_are_refused_by_name(dtype: Any) -> None:
    good = with_gradient(torch.randn(3))
    bad = nn.Parameter(torch.ones(3, dtype=dtype), requires_grad=False)
    with pytest.raises(tundish.ArgumentError, match="parameter 1 of group 0 is " + str(dtype)[6:]):
        stepped(good, bad)


def test_parameters_on_two_devices_are_refused_by_name() -> None:
    good, bad = with_gradient(torch.randn(3)), nn.Parameter(torch.ones(3, device="meta"))
    with pytest.raises(tundish.ArgumentError, match="parameter 1 of group 0 is on meta"):
        stepped(good, bad)
    bad.grad = torch.ones_like(bad)
    with pytest.raises(tundish.ArgumentError, match="not on meta"):
        stepped(bad)


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
@pytest.mark.parametrize("kind", [optim.SGD, optim.AdamW, optim.LAMB, optim.Muon])
def test_a_parameter_listed_twice_is_refused_by_name(kind: Any) -> None:
    first, second = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.randn(3, 3))
    text = (
        "parameter 2 of group {} is the same tensor as parameter 0\n  fix: list each parameter once"
    )
    with pytest.raises(tundish.ArgumentError, match=text.format(0)):
        kind([first, second, first])
    optimizer = kind([second])
    with pytest.raises(tundish.ArgumentError, match=text.format(1)):
        optimizer.add_param_group({"params": [first, nn.Parameter(torch.randn(3, 3)), first]})
    assert len(optimizer.param_groups) == 1
    optimizer.add_param_group({"params": [first]})


def test_parameters_with_gaps_are_refused_by_name() -> None:
    with pytest.raises(tundish.ArgumentError, match="parameter 0 of group 0 has gaps in memory"):
        stepped(with_gradient(torch.randn(8, 8)[:, :4]))
    with pytest.raises(tundish.ArgumentError, match="parameter 0 of group 0 has gaps in memory"):
        stepped(with_gradient(torch.randn(1, 8).expand(4, 8)))


@pytest.mark.parametrize("case", ["transposed", "expanded", "channels_last", "contiguous"])
def test_gradients_in_another_order_give_the_same_update(case: str) -> None:
    weights, gradient = torch.randn(6, 4, 3, 3), torch.randn(6, 4, 3, 3)
    if case == "expanded":
        gradient = torch.randn(6, 1, 1, 1).expand(6, 4, 3, 3)
    theirs = nn.Parameter(weights.clone())
    theirs.grad = gradient.clone(memory_format=torch.contiguous_format)
    torch.optim.AdamW([theirs]).step()
    ours = nn.Parameter(weights.clone())
    if case == "transposed":
        gradient = gradient.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    elif case == "channels_last":
        gradient = gradient.to(memory_format=torch.channels_last)
    elif case == "contiguous":
        ours = nn.Parameter(weights.to(memory_format=torch.channels_last))
    ours.grad = gradient
    stepped(ours)
    torch.testing.assert_close(ours, theirs)


def test_moved_and_replaced_parameters_are_found() -> None:
    parameter = with_gradient(torch.zeros(100))
    optimizer = optim.SGD([parameter], lr=1.0)
    optimizer.step()
    old = parameter.data
    parameter.data = torch.zeros(100)
    optimizer.step()
    assert torch.equal(old, torch.full((100,), -1.0))
    assert torch.equal(parameter.detach(), torch.full((100,), -1.0))
    other = with_gradient(torch.zeros(7))
    optimizer.param_groups[0]["params"][0] = other
    optimizer.step()
    assert torch.equal(other.detach(), torch.full((7,), -1.0))


def test_a_change_of_precision_is_followed() -> None:
    model = nn.Linear(8, 8)
    optimizer = optim.AdamW(model.parameters(), lr=0.1)
    for dtype in (torch.float32, torch.bfloat16, torch.float32):
        model.to(dtype)
        optimizer.zero_grad()
        model(torch.ones(2, 8, dtype=dtype)).sum().backward()
        before = model.weight.detach().clone()
        optimizer.step()
        assert not torch.equal(before, model.weight)
        assert optimizer.state[model.weight]["exp_avg"].dtype == torch.float32


def test_the_state_of_another_optimizer_is_refused() -> None:
    parameter = with_gradient(torch.randn(5))
    theirs = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    theirs.step()
    saved = theirs.state_dict()
    with pytest.raises(tundish.ArgumentError, match=r"group 0 of the saved state has no betas"):
        optim.AdamW([parameter]).load_state_dict(saved)
    mixed = {**saved, "param_groups": optim.AdamW([parameter]).state_dict()["param_groups"]}
    with pytest.raises(tundish.ArgumentError, match=r"parameter 0 of group 0 has momentum_buffer"):
        optim.AdamW([parameter]).load_state_dict(mixed)
    adam = torch.optim.AdamW([parameter])
    adam.step()
    with pytest.raises(tundish.ArgumentError, match="state of another optimizer"):
        optim.SGD([parameter], momentum=0.9).load_state_dict(adam.state_dict())
    amsgrad = torch.optim.AdamW([parameter], amsgrad=True)
    amsgrad.step()
    with pytest.raises(tundish.ArgumentError, match="amsgrad"):
        optim.AdamW([parameter]).load_state_dict(amsgrad.state_dict())


def test_the_state_of_another_model_is_refused_by_name() -> None:
    saved = copy.deepcopy(stepped(with_gradient(torch.randn(5))).state_dict())
    other = with_gradient(torch.randn(6))
    optimizer = optim.AdamW([("fc.bias", other)])
    optimizer.load_state_dict(saved)
    with pytest.raises(tundish.ArgumentError, match=r"group 0 \(fc.bias\) has the shape \(5,\)"):
        optimizer.step()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"max_norm": -1}, "max_norm must be 0 or more"),
        ({"ema_decay": 1.0}, "ema_decay must be from 0 to below 1"),
        ({"master_weights": True, "stochastic_rounding": True}, "cannot be combined"),
        ({"amsgrad": True}, "amsgrad=True is not supported"),
        ({"lr": -1.0}, "lr must be 0 or more"),
        (
            {"params": "max_norm"},
            r"a group has max_norm, which applies to the whole optimizer\n.*AdamW\(",
        ),
        ({"betas": (0.9, 1.0)}, "betas must be"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], text: str) -> None:
    group = {"params": [nn.Parameter(torch.ones(1))]}
    if (own := arguments.pop("params", None)) is not None:
        group[own] = 1.0
    with pytest.raises(ValueError, match=text):
        optim.AdamW([group], **arguments)


@pytest.mark.parametrize("name", ["max_norm", "ema_decay", "lr", "weight_decay"])
def test_a_string_is_refused_as_a_number(name: str) -> None:
    with pytest.raises(TypeError, match=f"AdamW: {name} must be a number, not '0.1'"):
        optim.AdamW([nn.Parameter(torch.ones(1))], **{name: "0.1"})


def test_max_norm_none_disables_clipping_and_inf_only_records_the_norm() -> None:
    parameter = with_gradient(torch.ones(4))
    off = stepped(parameter, max_norm=None, ema_decay=None, master_weights=None)
    assert (off.max_norm, off.ema_decay, off.master_weights, off.grad_norm) == (0, 0, False, None)
    plain, measured = (with_gradient(torch.ones(4)) for _ in range(2))
    stepped(plain)
    assert float(stepped(measured, max_norm=float("inf")).grad_norm) == 2
    assert torch.equal(plain, measured)
    with pytest.raises(AttributeError):
        off.max_norm = 1.0


def test_two_limits_of_lamb_are_refused() -> None:
    with pytest.raises(tundish.ArgumentError, match="set the same limit"):
        optim.LAMB([nn.Parameter(torch.ones(1))], max_norm=1.0, max_grad_norm=0.5)
    both = optim.LAMB([nn.Parameter(torch.ones(1))], max_norm=0.5, max_grad_norm=0.5)
    assert both.max_norm == optim.LAMB([nn.Parameter(torch.ones(1))], max_grad_norm=0.5).max_norm


def test_norms_of_several_steps_can_be_kept() -> None:
    parameter = with_gradient(torch.ones(4))
    optimizer = optim.SGD([parameter], lr=0.1, max_norm=1.0)
    norms = []
    for size in (1.0, 2.0, 3.0):
        parameter.grad = torch.full((4,), size)
        optimizer.step()
        norms.append(optimizer.grad_norm)
    assert [float(norm) for norm in norms] == [2.0, 4.0, 6.0]


def test_a_step_inside_averaged_is_refused() -> None:
    optimizer = stepped(with_gradient(torch.ones(4)), ema_decay=0.5)
    with (
        pytest.raises(tundish.ArgumentError, match=r"step\(\) was called inside averaged"),
        optimizer.averaged(),
    ):
        optimizer.step()
    optimizer.step()


MATRIX = (3, 3)
OTHERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.5),
    "momentum": lambda p: torch.optim.SGD(p, 0.5, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p),
    "AdamW": lambda p: torch.optim.AdamW(p),
    "RAdam": lambda p: torch.optim.RAdam(p),
    "NAdam": lambda p: torch.optim.NAdam(p),
    "RMSprop": lambda p: torch.optim.RMSprop(p),
    "Lars": lambda p: timm.optim.Lars(p, 0.5, momentum=0.9),
    "Lamb": lambda p: timm.optim.Lamb(p),
    "Lion": lambda p: timm.optim.Lion(p),
    "Muon": lambda p: torch.optim.Muon(p),
    "NovoGrad": lambda p: optim.NovoGrad(p),
    "NvNovoGrad": lambda p: timm.optim.NvNovoGrad(p),
    "SGDW": lambda p: timm.optim.SGDW(p, 0.5, momentum=0.9),
    "AdamWLegacy": lambda p: timm.optim.AdamWLegacy(p),
}
OWN = {
    "SGD": ("SGD", "momentum"),
    "Adam": ("Adam", "AdamW"),
    "AdamW": ("AdamW", "AdamWLegacy"),
    "LARS": ("Lars",),
    "LAMB": ("Lamb",),
    "NVLAMB": (),
    "Lion": ("Lion",),
    "NovoGrad": ("NovoGrad",),
    "Muon": ("Muon",),
}


@pytest.mark.parametrize("ours", OWN)
@pytest.mark.parametrize("steps", [0, 1])
def test_states_of_other_optimizers_are_refused_unless_the_name_matches(
    ours: str, steps: int
) -> None:
    for name, make in OTHERS.items():
        parameter = with_gradient(torch.ones(MATRIX))
        other = make([parameter])
        for _ in range(steps):
            other.step()
        arguments = {"momentum": 0.9} if ours in ("SGD", "LARS") else {}
        optimizer = getattr(optim, ours)([parameter], lr=0.1, **arguments)
        before = optimizer.param_groups[0]["lr"]
        if name in OWN[ours]:
            optimizer.load_state_dict(other.state_dict())
            optimizer.step()
            continue
        with pytest.raises(tundish.ArgumentError, match=r"state of (another optimizer|NovoGrad)"):
            optimizer.load_state_dict(other.state_dict())
        assert optimizer.param_groups[0]["lr"] == before, name


def test_the_squared_norms_of_timms_nvnovograd_are_named() -> None:
    parameter = with_gradient(torch.ones(MATRIX))
    theirs = timm.optim.NvNovoGrad([parameter])
    theirs.step()
    for ours in (optim.NovoGrad, optim.LAMB, optim.NVLAMB):
        with pytest.raises(tundish.ArgumentError, match="NvNovoGrad, whose exp_avg_sq is the sq"):
            ours([parameter]).load_state_dict(theirs.state_dict())


def test_a_state_of_corrected_weight_decay_is_refused_by_adamw() -> None:
    parameter = with_gradient(torch.ones(MATRIX))
    theirs = timm.optim.AdamWLegacy([parameter], corrected_weight_decay=True)
    with pytest.raises(tundish.ArgumentError, match="corrected_weight_decay=True"):
        optim.AdamW([parameter]).load_state_dict(theirs.state_dict())


@pytest.mark.parametrize("what", [{"model": {}}, {"weight": torch.ones(1)}, None])
def test_what_is_not_a_state_is_refused(what: Any) -> None:
    for optimizer in (optim.AdamW, optim.Muon):
        with pytest.raises(tundish.ArgumentError, match="not the state of an optimizer"):
            optimizer([nn.Parameter(torch.ones(MATRIX))]).load_state_dict(what)


def test_an_unknown_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_nrom'"):
        optim.SGD([nn.Parameter(torch.ones(1))], max_nrom=1.0)


def test_a_step_without_any_gradient_does_nothing() -> None:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = stepped(parameter)
    assert not optimizer.state
    assert torch.equal(parameter.detach(), torch.ones(3))


def test_non_finite_gradients_behave_like_in_torch() -> None:
    for bad in (float("inf"), float("nan")):
        results = []
        for module in (optim, torch.optim):
            parameter = with_gradient(torch.zeros(3))
            assert parameter.grad is not None
            parameter.grad[1] = bad
            module.SGD([parameter], lr=1.0).step()
            results.append(parameter.detach())
        torch.testing.assert_close(*results, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "group", "message"),
    [
        ("Adam", {"amsgrad": True}, "amsgrad=True is not supported"),
        ("SGD", {"differentiable": True}, "differentiable=True is not supported"),
        ("Lion", {"caution": True}, "caution=True is not supported"),
        ("AdamW", {"lr": -1.0}, "lr must be 0 or more"),
        ("SGD", {"momentum": -1.0}, "momentum must be 0 or more"),
        ("LAMB", {"betas": (2.0, 0.9)}, "betas must be two numbers"),
    ],
)
def test_a_group_is_checked_as_the_constructor_checks(
    name: str, group: dict[str, Any], message: str
) -> None:
    cls = getattr(optim, name)
    with pytest.raises(ValueError, match=message):
        cls([{"params": [nn.Parameter(torch.ones(2))], **group}])
    optimizer = cls([nn.Parameter(torch.ones(2))])
    with pytest.raises(ValueError, match=message):
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))], **group})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize(
    ("name", "variant"), [("Adam", "amsgrad"), ("SGD", "differentiable"), ("Lion", "caution")]
)
def test_a_saved_state_of_a_variant_is_refused(name: str, variant: str) -> None:
    optimizer = getattr(optim, name)([nn.Parameter(torch.ones(2))])
    saved = optimizer.state_dict()
    saved["param_groups"][0][variant] = True
    with pytest.raises(tundish.ArgumentError, match=f"saved state: {variant}=True is not"):
        optimizer.load_state_dict(saved)


def test_a_step_inside_averaged_of_a_wrapper_is_refused() -> None:
    """Lightning's Fabric makes a wrapper with the attributes of the optimizer."""
    parameter = nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([parameter], lr=0.1, ema_decay=0.9)
    wrapper = object.__new__(optim.SGD)
    wrapper.__dict__.update(optimizer.__dict__)
    parameter.grad = torch.ones(3)
    optimizer.step()
    with wrapper.averaged():
        optimizer.load_state_dict(optimizer.state_dict())
        with pytest.raises(tundish.ArgumentError, match="inside averaged"):
            optimizer.step()
    optimizer.step()
