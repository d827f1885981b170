"""Optimizers of timm, and torch's Muon, replaced by the trick: steps, checkpoints and undo.

timm runs in a separate process. The gradients are drawn, so that a last-bit difference does not
grow.
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
from typing import Any

import pytest
import torch
from torch import nn
from tundish.tuning.numerics.gate import gate
from tundish.tuning.step import Step
from tundish.tuning.tricks.optimizer_equivalents import TWINS, twin_of
from tundish.tuning.tricks.tundish_muon import TundishMuon
from tundish.tuning.tricks.tundish_optimizer import TundishOptimizer

from tests.helpers.numerics_jobs import TinyVit, job_maker
from tests.helpers.program import ROOT
from tests.helpers.torchvision_child import ask_torchvision
from tests.optim.muon_measures import distance
from tests.optim.ulps import ulps_of_each

# module, class, arguments
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("lion", "Lion", {"lr": 1e-2, "weight_decay": 0.1}),
    ("lion", "Lion", {"lr": 1e-2, "maximize": True}),
    ("lars", "Lars", {"lr": 0.5, "weight_decay": 1e-2, "momentum": 0.9, "nesterov": True}),
    ("lars", "Lars", {"lr": 0.5, "always_adapt": True, "trust_coeff": 0.02}),
    ("lamb", "Lamb", {"lr": 1e-2}),
    ("lamb", "Lamb", {"lr": 1e-2, "max_grad_norm": None, "weight_decay": 0.1}),
    ("lamb", "Lamb", {"lr": 1e-2, "decoupled_decay": True, "trust_clip": True}),
    ("nvnovograd", "NvNovoGrad", {"lr": 1e-2, "weight_decay": 1e-2}),
    ("nvnovograd", "NvNovoGrad", {"lr": 1e-2, "grad_averaging": True}),
]
LIMIT = 60.0  # ulps, as in tests/optim/test_against_timm.py
# Lion's sign turns a last-bit difference into a whole step where an average is almost 0.
ALLOWED = {"Lion": 3}
STEPS = 20


class Weights(nn.Module):
    """A model whose gradients are given by the batch."""

    def __init__(self, shapes: list[tuple[int, ...]]) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(1)
        self.all = nn.ParameterList(torch.randn(shape, generator=draw) for shape in shapes)


def loss_fn(model: Any, batch: list[Any]) -> Any:
    return sum((weight * gradient).sum() for weight, gradient in zip(model.all, batch))


SHAPES: list[tuple[int, ...]] = [(33, 17), (5,), (40, 30), (8, 4, 3, 3)]
MATRICES: list[tuple[int, ...]] = [(33, 17), (40, 30), (33, 17), (12, 64)]


def batches(shapes: list[tuple[int, ...]]) -> list[list[Any]]:
    draw = torch.Generator().manual_seed(2)
    return [[torch.randn(shape, generator=draw) for shape in shapes] for _ in range(4)]


class Run:
    """A model that trains with the user's optimizer, with or without the trick."""

    def __init__(self, kind: Any, arguments: dict[str, Any], shapes: Any, trick: bool) -> None:
        self.model = Weights(shapes)
        names = list(self.model.all)  # two groups, as in user code
        rate = arguments["lr"]
        groups = [{"params": names[:2]}, {"params": names[2:], "lr": rate / 2}]
        self.optimizer = kind(groups, **arguments)
        self.step = Step(self.model, self.optimizer, loss_fn)
        self.batches = batches(shapes)
        self.trick = TundishMuon() if kind is torch.optim.Muon else TundishOptimizer()
        if trick:
            assert self.trick.obstacle(self.step) == ""
            self.trick.apply(self.step)

    def train(self, steps: int) -> Run:
        for i in range(steps):
            self.step(self.batches[i % 4])
        return self

    def weights(self) -> list[Any]:
        return [weight.detach().clone() for weight in self.model.all]

    def saved(self) -> Any:
        return copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))

    def load(self, saved: Any) -> Run:
        self.model.load_state_dict(saved[0])
        self.optimizer.load_state_dict(copy.deepcopy(saved[1]))
        return self


def forms(saved: dict[str, Any]) -> Any:
    """Returns the structure of a checkpoint without the numbers."""

    def form(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return [str(value.dtype), list(value.shape), str(value.device)]
        return type(value).__name__

    kept = {key: one for key, one in saved["state"].items() if one}
    states = {key: {k: form(v) for k, v in one.items()} for key, one in kept.items()}
    groups = [{k: form(v) for k, v in group.items()} for group in saved["param_groups"]]
    return [states, groups]


def pairs_of(kind: Any, arguments: dict[str, Any], shapes: Any) -> dict[str, tuple[Any, Any]]:
    """Returns pairs of weights that must agree: with the trick, and with the user's optimizer."""
    plain, ours = (Run(kind, arguments, shapes, trick).train(STEPS) for trick in (False, True))
    start = plain.saved(), ours.saved()
    assert forms(start[0][1]) == forms(start[1][1])
    out = {"steps": (ours.weights(), plain.weights())}
    # Resumes a checkpoint of the trick without the trick, and a checkpoint without the trick with
    # it.
    there = Run(kind, arguments, shapes, False).load(start[1]).train(5)
    here = Run(kind, arguments, shapes, True).load(start[0]).train(5)
    plain.train(5)
    out["the trick's checkpoint"] = there.weights(), plain.weights()
    out["a checkpoint into the trick"] = here.weights(), plain.weights()
    ours.trick.undo(ours.step)
    assert ours.step.updater is None
    out["undone"] = ours.train(5).weights(), plain.weights()
    assert forms(ours.saved()[1]) == forms(plain.saved()[1])
    return out


def outcomes() -> dict[str, dict[str, int]]:
    """Returns how many weights differ too much; runs in a process with timm."""
    out = {}
    for number, (module, name, arguments) in enumerate(CASES):
        kind = getattr(importlib.import_module(f"timm.optim.{module}"), name)
        out[str(number)] = {
            what: sum(int((ulps_of_each(a, b) > LIMIT).sum()) for a, b in zip(*pair))
            for what, pair in pairs_of(kind, arguments, SHAPES).items()
        }
    return out


CHILD = """
sys.path.insert(0, sys.argv[1])
import json
from tests.tuning.test_optimizer_twins import outcomes
print(json.dumps(outcomes()))
"""


@pytest.fixture(scope="module")
def found() -> Any:
    return json.loads(ask_torchvision(CHILD, str(ROOT)))


@pytest.mark.parametrize("number", range(len(CASES)))
def test_steps_and_checkpoints_equal_timms(number: int, found: Any) -> None:
    counts = found[str(number)]
    assert len(counts) == 4
    assert max(counts.values()) <= ALLOWED.get(CASES[number][1], 0), counts


def test_every_class_of_timm_was_compared() -> None:
    wanted = {(twin.module, twin.name) for twin in TWINS if twin.module.startswith("timm")}
    assert wanted == {(f"timm.optim.{module}", name) for module, name, _ in CASES}


@pytest.mark.parametrize("more", [{}, {"adjust_lr_fn": "match_rms_adamw", "nesterov": False}])
def test_steps_and_checkpoints_equal_torchs_muon(more: dict[str, Any]) -> None:
    """bfloat16 iterations differ by about 1 % of an update (docs/optimizers.md)."""
    starts = Weights(MATRICES).all
    for pair in pairs_of(torch.optim.Muon, {"lr": 0.02, **more}, MATRICES).values():
        assert distance(*pair, [start.detach().double() for start in starts]) <= 0.03


def test_a_muon_of_hidden_matrices_passes_the_gate() -> None:
    def muon(model: Any) -> Any:
        model.requires_grad_(False)
        matrices = [p for p in model.layers.parameters() if p.ndim == 2]
        return torch.optim.Muon([p.requires_grad_() for p in matrices], lr=1e-3)

    result = gate(job_maker(TinyVit, muon), [TundishMuon()], seed=1)
    assert result.passed, result
    assert result.grade == "statistical"


def test_checking_an_optimizer_does_not_import_timm() -> None:
    weight = nn.Parameter(torch.zeros(3))
    before = set(sys.modules)
    assert twin_of(torch.optim.RMSprop([weight])) is None
    assert twin_of(torch.optim.SGD([weight], lr=0.1)) is TWINS[0]
    assert not any(name.startswith("timm") for name in set(sys.modules) - before)


def test_muon_with_parameters_that_are_not_matrices_is_named() -> None:
    """torch refuses such parameters at construction, but a parameter can change its shape later."""
    weight = nn.Parameter(torch.zeros(3, 4))
    optimizer = torch.optim.Muon([weight])
    weight.data = torch.zeros(12)
    step = Step(Weights([]), optimizer, loss_fn)
    assert "not matrices" in TundishMuon().obstacle(step)
    assert "Muon is not torch's or timm's SGD" in TundishOptimizer().obstacle(step)
    step = Step(Weights([]), torch.optim.SGD([weight], lr=0.1), loss_fn)
    assert "SGD is not torch's or timm's Muon" in TundishMuon().obstacle(step)
