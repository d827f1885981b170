"""The gate refuses a trick that changes the batch or the model's results in eval mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from tundish.tuning.job import Job
from tundish.tuning.numerics.gate import gate
from tundish.tuning.step import Step
from tundish.tuning.tricks import Trick
from tundish.tuning.tricks.autocast import Bf16
from tundish.tuning.tricks.inplace import InplaceActivations


class FeaturesInEvalMode(nn.Module):
    """Returns logits in training; in eval mode, also the features before the activation."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.relu = nn.ReLU()
        self.head = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        features = self.conv(x).mean((2, 3))
        logits = self.head(self.relu(features))
        return logits if self.training else (logits, features)


class ActivatedInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.head = nn.Linear(192, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.relu(x).flatten(1))


class NoEvalMode(FeaturesInEvalMode):
    def forward(self, x: Any) -> Any:
        if not self.training:
            raise RuntimeError("no weights to evaluate")
        return super().forward(x)


class OverwritingInput(ActivatedInput):
    """Overwrites its input even without the trick; the head has an activation for the trick."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Sequential(nn.Linear(192, 8), nn.ReLU(), nn.Linear(8, 10))
        self.relu = nn.ReLU(inplace=True)


def job_of(kind: type[nn.Module]) -> Any:
    def make() -> Job:
        torch.manual_seed(0)
        model = kind()
        images = torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        return Job(model, optimizer, nn.CrossEntropyLoss(), [(images, torch.arange(16) % 10)])

    return make


def test_a_feature_that_is_overwritten_in_eval_mode_is_refused() -> None:
    result = gate(job_of(FeaturesInEvalMode), [InplaceActivations()], 0)
    assert not result.passed
    assert result.sentence == "output 1 of the model in eval mode is not bitwise equal"


def test_an_overwritten_batch_is_refused() -> None:
    result = gate(job_of(ActivatedInput), [InplaceActivations()], 0)
    assert not result.passed
    assert "overwrites the batch" in result.sentence


class Bf16Inplace(Trick):
    """A lower-precision trick that also overwrites the batch."""

    name = "bf16"
    grade = Bf16.grade

    def apply(self, step: Step) -> None:
        Bf16().apply(step)
        InplaceActivations().apply(step)

    def undo(self, step: Step) -> None:
        InplaceActivations().undo(step)
        Bf16().undo(step)


def test_a_trick_of_lower_precision_must_not_overwrite_the_batch_either() -> None:
    result = gate(job_of(ActivatedInput), [Bf16Inplace()], 0)
    assert not result.passed
    assert "overwrites the batch" in result.sentence
    assert gate(job_of(ActivatedInput), [Bf16()], 0).passed


def test_a_batch_overwritten_by_the_plain_step_is_allowed() -> None:
    result = gate(job_of(OverwritingInput), [InplaceActivations()], 0)
    assert result.passed, result


def test_a_model_without_eval_mode_is_compared_in_training_alone() -> None:
    result = gate(job_of(NoEvalMode), [InplaceActivations()], 0)
    assert result.passed, result
    assert result.notes == [
        "not compared in eval mode, where the plain model fails (no weights to evaluate)"
    ]


@pytest.mark.parametrize("training", [True, False])
def test_the_check_leaves_every_module_in_its_mode(training: bool) -> None:
    made: list[Job] = []

    def make() -> Job:
        made.append(job_of(FeaturesInEvalMode)())
        made[-1].model.conv.train(training)
        return made[-1]

    gate(make, [InplaceActivations()], 0)
    assert all(job.model.training and job.model.conv.training is training for job in made)
