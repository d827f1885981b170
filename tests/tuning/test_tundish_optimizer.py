"""The trick that runs the optimizer's step in tundish.optim: the user's object is unchanged."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from tundish.tuning.job import Job
from tundish.tuning.numerics.gate import gate
from tundish.tuning.step import Step
from tundish.tuning.tricks.optimizer_kernels import FusedOptimizer
from tundish.tuning.tricks.tundish_optimizer import TundishOptimizer

from tests.helpers.numerics_jobs import Cnn, TinyVit, adamw, job_maker

KINDS: list[tuple[Any, dict[str, Any]]] = [
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (torch.optim.SGD, {"lr": 0.1}),
    (torch.optim.Adam, {"lr": 1e-2, "weight_decay": 0.01}),
    (torch.optim.AdamW, {"lr": 1e-2, "weight_decay": 0.1}),
]
BATCHES = [
    (torch.randn(8, 6, generator=torch.Generator().manual_seed(i)), torch.arange(8) % 3)
    for i in range(4)
]


def trained(kind: Any, options: dict[str, Any], trick: bool, steps: int = 20) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = kind(model.parameters(), **options)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 7, 0.5)
    step = Step(model, optimizer, nn.CrossEntropyLoss())
    if trick:
        TundishOptimizer().apply(step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the scheduler warns if it sees no step of the optimizer
        for i in range(steps):
            step(BATCHES[i % 4])
            scheduler.step()
    return model, optimizer, step


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_steps_equal_the_users_optimizer(kind: Any, options: dict[str, Any]) -> None:
    plain, _, _ = trained(kind, options, trick=False)
    ours, _, _ = trained(kind, options, trick=True)
    for a, b in zip(plain.parameters(), ours.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_checkpoints_are_ordinary(kind: Any, options: dict[str, Any]) -> None:
    """Checkpoints of the trick resume in torch, and checkpoints of torch load into the trick."""
    model, optimizer, step = trained(kind, options, trick=True)
    saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    other = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    plain = kind(other.parameters(), **options)
    other.load_state_dict(saved[0])
    plain.load_state_dict(copy.deepcopy(saved[1]))  # load_state_dict() keeps the given tensors
    loop = Step(other, plain, nn.CrossEntropyLoss())
    for i in range(5):
        loop(BATCHES[i % 4])
        step(BATCHES[i % 4])
    for a, b in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    model.load_state_dict(saved[0])
    optimizer.load_state_dict(copy.deepcopy(saved[1]))
    for i in range(5):
        step(BATCHES[i % 4])
    for a, b in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_the_users_optimizer_continues_after_undo(kind: Any, options: dict[str, Any]) -> None:
    plain, _, loop = trained(kind, options, trick=False)
    ours, optimizer, step = trained(kind, options, trick=True)
    TundishOptimizer().undo(step)
    for i in range(5):
        loop(BATCHES[i % 4])
        step(BATCHES[i % 4])
    for a, b in zip(plain.parameters(), ours.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    counts = [s["step"] for s in optimizer.state.values() if "step" in s]
    assert len({id(count) for count in counts}) == len(counts)
    assert not any(int(count) != 25 for count in counts)


@pytest.mark.parametrize("make", [job_maker(Cnn, count=16, side=8), job_maker(TinyVit, adamw)])
def test_the_trick_passes_the_gate(make: Any) -> None:
    result = gate(make, [TundishOptimizer()], seed=1)
    assert result.passed, result
    assert gate(make, [FusedOptimizer(), TundishOptimizer()], seed=1).passed


def test_a_wrong_update_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    from tundish import optim

    class Wrong(optim.SGD):
        def _fill(self, out: Any, group: dict[str, Any]) -> None:
            super()._fill(out, group)
            out.momentum = 0.8

    monkeypatch.setattr(optim, "SGD", Wrong)
    make = job_maker(Cnn, count=16, side=8)
    job: Job = make()
    assert job.optimizer.param_groups[0]["momentum"] == 0.9
    assert not gate(make, [TundishOptimizer()], seed=1).passed


class Own(torch.optim.SGD):
    pass


def test_unsupported_optimizers_are_named() -> None:
    weight = nn.Parameter(torch.zeros(3))
    hooked = torch.optim.SGD([weight], lr=0.1)
    hooked.register_step_post_hook(lambda *words: None)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        twice = torch.optim.SGD([weight, weight], lr=0.1)
    for optimizer, word in (
        (Own([weight], lr=0.1), "Own is not torch's"),
        (torch.optim.RMSprop([weight]), "RMSprop is not torch's"),
        (torch.optim.Adam([weight], amsgrad=True), "amsgrad=True"),
        (hooked, "hooks"),
        (twice, "lists a parameter twice"),
        (torch.optim.SGD([nn.Parameter(torch.zeros(3).double())], lr=0.1), "float32"),
    ):
        model = nn.Linear(3, 3)
        assert word in TundishOptimizer().obstacle(Step(model, optimizer, nn.MSELoss()))
