"""Tricks with a known effect, and a job that shows it: a tuning run must keep or reject each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from tundish.tuning.step import Step
from tundish.tuning.tricks import Grade, Trick


class Net(nn.Module):
    """A small CNN with a sleep in its forward pass, and switches to skip, scale or round."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 10)
        self.wait_s = 0.06
        self.scale = 1.0
        self.half = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(self.wait_s)
        x = torch.relu(self.norm(self.convolution(x)))
        if self.half:
            return self.head(x.half().mean((2, 3)).float()) * self.scale
        return self.head(x.mean((2, 3))) * self.scale


def build() -> Any:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    batch = torch.randn(8, 3, 12, 12), torch.randint(0, 10, (8,))
    return model, optimizer, nn.CrossEntropyLoss(), batch


class Planted(Trick):
    """Sets an attribute of the model. Faulty tricks are faster, too: time alone would keep them."""

    attribute, value, usual, wait_s = "", None, None, 0.01

    def apply(self, step: Step) -> None:
        setattr(step.model, self.attribute, self.value)
        step.model.wait_s = self.wait_s

    def undo(self, step: Step) -> None:
        setattr(step.model, self.attribute, self.usual)
        step.model.wait_s = 0.06


@dataclass(frozen=True)
class NoWait(Planted):
    name, title, grade = "no_wait", "no wait", Grade.BITWISE
    attribute, value, usual, wait_s = "wait_s", 0.01, 0.06, 0.01


@dataclass(frozen=True)
class WrongScale(Planted):
    name, title, grade = "wrong_scale", "half the output", Grade.REASSOCIATION
    attribute, value, usual = "scale", 0.5, 1.0


@dataclass(frozen=True)
class HalfSum(Planted):
    name, title, grade = "half_sum", "a mean in fp16", Grade.REASSOCIATION
    attribute, value, usual = "half", True, False


@dataclass(frozen=True)
class Slower(Planted):
    name, title, grade = "slower", "waits longer", Grade.BITWISE
    attribute, value, usual, wait_s = "wait_s", 0.15, 0.06, 0.15


class HalfDone(Trick):
    """A trick that cannot be undone."""

    name, title = "half_done", "half done"

    def apply(self, step: Step) -> None:
        step.model.wait_s = 0.0
