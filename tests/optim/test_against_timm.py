"""Lion, LARS and LAMB step by step against timm's, which runs in a separate process."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tundish import optim

from tests.helpers.program import ROOT
from tests.helpers.torchvision_child import ask_torchvision

from .test_against_torch import draw_gradients, tensors
from .ulps import ulps, ulps_of_each

# tundish name, timm name, common arguments
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("Lion", "Lion", {"lr": 1e-2, "weight_decay": 0.1}),
    ("Lion", "Lion", {"lr": 1e-2, "betas": (0.5, 0.3), "maximize": True}),
    ("LARS", "Lars", {"lr": 0.5, "weight_decay": 1e-2, "momentum": 0.9}),
    ("LARS", "Lars", {"lr": 0.5, "trust_coeff": 0.02, "always_adapt": True}),
    ("LARS", "Lars", {"lr": 0.01, "weight_decay": 0.1, "momentum": 0.9, "trust_clip": True}),
    ("LARS", "Lars", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("LAMB", "Lamb", {"lr": 1e-2}),
    ("LAMB", "Lamb", {"lr": 1e-2, "weight_decay": 0, "max_grad_norm": None}),
    ("LAMB", "Lamb", {"lr": 1e-2, "grad_averaging": False, "bias_correction": False}),
    ("LAMB", "Lamb", {"lr": 1e-2, "trust_clip": True, "decoupled_decay": True}),
    ("NVLAMB", "Lamb", {"lr": 1e-2, "weight_decay": 0, "always_adapt": True}),
]
STEPS = 50

THEIR_CODE = """
sys.path.insert(0, sys.argv[2])
from tests.optim.test_against_timm import CASES, STEPS, used
from tests.optim.test_against_torch import draw_gradients
import timm.optim.lamb, timm.optim.lars, timm.optim.lion

results = []
for _, name, arguments in CASES:
    parameters = used()
    optimizer = getattr(getattr(timm.optim, name.lower()), name)(parameters, **arguments)
    for step in range(STEPS):
        draw_gradients(parameters, step=step)
        optimizer.step()
        if step == 0:
            first = [p.detach().clone() for p in parameters]
    results.append((first, [p.detach() for p in parameters], optimizer.state_dict()))
torch.save(results, sys.argv[1])
"""


def used() -> list[Any]:
    """Returns the non-empty tensors, because timm divides by the number of elements."""
    return [one for one in tensors() if one.numel()]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("timm") / "results.pt"
    ask_torchvision(THEIR_CODE, str(file), str(ROOT))
    return torch.load(file, weights_only=False)


def far_apart(ours: list[Any], others: list[Any], limit: float) -> int:
    """Returns how many numbers differ by more than the limit."""
    return sum(int((ulps_of_each(a, b) > limit).sum()) for a, b in zip(ours, others))


# Lion's sign turns a last-bit difference into a whole step where an average is almost 0.
ALLOWED = {"Lion": 3}


def run(optimizer: Any, parameters: list[Any], steps: range) -> None:
    for step in steps:
        draw_gradients(parameters, step=step)
        optimizer.step()


@pytest.mark.parametrize("number", range(len(CASES)))
def test_50_steps_equal_timms_within_a_few_ulps(number: int, theirs: Any) -> None:
    """timm sums norms in float, tundish in double; another norm scales a whole step."""
    name, _, arguments = CASES[number]
    first, last, state = theirs[number]
    parameters = used()
    optimizer = getattr(optim, name)(parameters, **arguments)
    run(optimizer, parameters, range(1))
    assert far_apart(parameters, first, 2) == 0
    run(optimizer, parameters, range(1, STEPS))
    assert far_apart(parameters, last, 60) <= ALLOWED.get(name, 0)
    for place, parameter in enumerate(parameters):
        for key, value in state["state"].get(place, {}).items():
            assert ulps(optimizer.state[parameter][key], value) <= 60


@pytest.mark.parametrize("number", [0, 2, 6])
def test_training_continues_from_a_timm_state(number: int, theirs: Any) -> None:
    name, _, arguments = CASES[number]
    _, last, state = theirs[number]
    loaded, straight = used(), used()
    with torch.no_grad():
        for a, b in zip(loaded, last):
            a.copy_(b)
    optimizer = getattr(optim, name)(loaded, **arguments)
    optimizer.load_state_dict(state)
    other = getattr(optim, name)(straight, **arguments)
    run(other, straight, range(STEPS + 3))
    run(optimizer, loaded, range(STEPS, STEPS + 3))
    assert far_apart(loaded, straight, 80) <= ALLOWED.get(name, 0)
    if name == "LAMB":
        assert float(optimizer.state_dict()["param_groups"][0]["step"]) == STEPS + 3


THEY_LOAD = """
sys.path.insert(0, sys.argv[1])
from tests.optim.test_against_timm import CASES, run, used
from tundish import optim
import timm.optim.lamb, timm.optim.lars, timm.optim.lion

for number in (0, 2, 6):
    ours, name, arguments = CASES[number]
    parameters = used()
    optimizer = getattr(optim, ours)(parameters, **arguments)
    run(optimizer, parameters, range(3))
    other = getattr(getattr(timm.optim, name.lower()), name)(parameters, **arguments)
    other.load_state_dict(optimizer.state_dict())
    run(other, parameters, range(3, 5))
    print(name, float(other.param_groups[0].get("step", 5)))
"""


def test_timm_continues_from_our_state() -> None:
    text = ask_torchvision(THEY_LOAD, str(ROOT))
    assert text.split("\n")[:3] == ["Lion 5.0", "Lars 5.0", "Lamb 5.0"]


def test_a_state_of_adam_is_refused_by_lion_and_the_other_way_round() -> None:
    parameters = used()
    states = {}
    for name in ("AdamW", "Lion", "NovoGrad"):
        optimizer = getattr(optim, name)(parameters)
        run(optimizer, parameters, range(1))
        states[name] = optimizer.state_dict()
    with pytest.raises(ValueError, match="state of another optimizer"):
        optim.Lion(parameters).load_state_dict(states["AdamW"])
    with pytest.raises(ValueError, match="state of another optimizer"):
        optim.AdamW(parameters).load_state_dict(states["Lion"])
    with pytest.raises(ValueError, match="state of another optimizer"):  # states of the same names
        optim.NovoGrad(parameters).load_state_dict(states["AdamW"])


def test_timms_variant_caution_is_refused() -> None:
    for cls in (optim.Lion, optim.LAMB):
        with pytest.raises(ValueError, match="caution=True is not supported"):
            cls(used(), caution=True)


def test_corrected_weight_decay_follows_the_square_of_the_learning_rate() -> None:
    parameter = torch.nn.Parameter(torch.ones(4))
    optimizer = optim.Lion([parameter], lr=0.1, weight_decay=0.5, corrected_weight_decay=True)
    optimizer.param_groups[0]["lr"] = 0.05
    parameter.grad = torch.zeros(4)
    optimizer.step()
    assert torch.equal(parameter.detach(), torch.full((4,), 1 - 0.05**2 / 0.1 * 0.5))


def test_a_late_parameter_counts_its_own_steps() -> None:
    """timm counts the steps of the group; docs/optimizers.md documents the difference."""
    early, late, alone = (torch.nn.Parameter(torch.ones(4)) for _ in range(3))
    optimizer = optim.LAMB([early, late], lr=0.1, max_grad_norm=None)
    for step in range(6):
        early.grad = torch.ones(4)
        late.grad = torch.arange(4.0) if step == 5 else None
        optimizer.step()
    alone.grad = torch.arange(4.0)
    optim.LAMB([alone], lr=0.1, max_grad_norm=None).step()
    assert [int(optimizer.state[one]["step"]) for one in (early, late)] == [6, 1]
    assert torch.equal(late, alone)
