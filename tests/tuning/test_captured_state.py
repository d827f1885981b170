"""A step under a CUDA graph captures again after changes that a replay would ignore.

tests/gpu/tune.py compares the weights with a plain loop on a GPU.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from tundish.tuning import Step
from tundish.tuning.captured_state import CapturedState
from tundish.tuning.step_graph import WARM_UP_STEPS, StepGraph
from tundish.tuning.tricks.tundish_optimizer import TundishOptimizer

BATCH = (torch.randn(8, 4), torch.randint(3, (8,)))


def made(tricks: Any = ()) -> Step:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.1), nn.Linear(6, 3))
    step = Step(model, torch.optim.AdamW(model.parameters()), nn.CrossEntropyLoss())
    for trick in tricks:
        trick.apply(step)
    step(BATCH)
    return step


def replace_state(step: Step) -> None:
    step.optimizer.state = defaultdict(dict)


def move_weights(step: Step) -> None:
    step.model[0].weight.data = step.model[0].weight.data.clone()


def move_state(step: Step) -> None:
    averages = step.optimizer.state[step.model[0].weight]["exp_avg"]
    averages.data = averages.data.clone()


def replace_buffer(step: Step) -> None:
    step.model[1].running_mean = torch.zeros(6)


def replace_parameter(step: Step) -> None:
    old = step.optimizer.param_groups[0]["params"]
    old[0] = nn.Parameter(torch.zeros(6, 4))


CHANGES: dict[str, Any] = {
    "freeze": lambda step: step.model[0].requires_grad_(False),
    "evaluation mode": lambda step: step.model[1].eval(),
    "loaded state": lambda step: step.optimizer.load_state_dict(
        copy.deepcopy(step.optimizer.state_dict())
    ),
    "cleared state": lambda step: step.optimizer.state.clear(),
    "replaced state": replace_state,
    "moved weights": move_weights,
    "moved state": move_state,
    "replaced buffer": replace_buffer,
    "new module": lambda step: step.model.append(nn.Tanh()),
    "replaced module": lambda step: step.model.__setitem__(2, nn.Dropout(0.5)),
    "replaced parameter": replace_parameter,
    "loss in evaluation mode": lambda step: step.loss_fn.eval(),
    "own step": lambda step: step.optimizer.step(),
}


@pytest.mark.parametrize("change", [*CHANGES])
@pytest.mark.parametrize("tricks", [[], [TundishOptimizer()]], ids=["torch", "tundish"])
def test_a_change_that_a_replay_would_ignore_is_found(change: str, tricks: Any) -> None:
    step = made(tricks)
    captured = CapturedState(step, with_optimizer=True)
    for _ in range(2):
        step(BATCH)
        assert captured.is_current()
    if change == "own step" and not tricks:
        return  # torch updates its states in place
    CHANGES[change](step)
    assert not captured.is_current()
    assert CapturedState(step, with_optimizer=True).is_current()


def test_a_state_outside_the_graph_may_change() -> None:
    step = made()
    captured = CapturedState(step, with_optimizer=False)
    step.optimizer.state.clear()
    assert captured.is_current()


def test_a_step_warms_up_and_captures_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def capture(graph: Any, batch: Any) -> None:
        calls.append("capture")
        graph._captured = CapturedState(graph._step, True)
        graph._options = options_of_step(graph)
        graph._rates, graph._rates_filled = [torch.zeros(())], [0.0]
        graph._loss = torch.zeros(())
        graph._graph = SimpleNamespace(
            replay=lambda: calls.append("replay"), reset=lambda: calls.append("release")
        )

    def options_of_step(graph: Any) -> Any:
        from tundish.tuning.step_graph import options_of

        return options_of(graph._step.optimizer)

    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(StepGraph, "_capture", capture)
    monkeypatch.setattr(StepGraph, "_run_on_stream", lambda graph, batch: calls.append("warm up"))
    step = made([TundishOptimizer()])
    graph = StepGraph(step)
    first = ["warm up"] * WARM_UP_STEPS + ["capture", "replay"]
    for _ in range(WARM_UP_STEPS + 2):
        graph(BATCH)
    assert calls == [*first, "replay"]
    calls.clear()
    step.model[0].requires_grad_(False)
    for _ in range(WARM_UP_STEPS + 1):
        graph(BATCH)
    assert calls == ["release", *first]
