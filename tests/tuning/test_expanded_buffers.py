"""Models with an expand() buffer, whose elements share memory; torch refuses to copy into it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from tundish.tuning import Checkpointing, Job, choose_blocks, predict_memory
from tundish.tuning.numerics.gate import gate
from tundish.tuning.preserved_state import unchanged, write_values
from tundish.tuning.tricks.optimizer_kernels import ForeachOptimizer


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
        self.register_buffer("mask", torch.ones(6).expand(4, 6))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        out: torch.Tensor = self.layers(inputs * self.mask[0])
        return out


def job() -> Job:
    torch.manual_seed(0)
    model = Masked()
    batch = (torch.randn(4, 6), torch.tensor([0, 1, 2, 0]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
    return Job(model, optimizer, nn.CrossEntropyLoss(), [batch])


def test_memory_is_predicted_without_changing_the_model() -> None:
    made = job()
    made.model.train(False)
    gradient = made.model.layers[0].weight.grad = torch.ones(16, 6)
    assert predict_memory(made, samples=64).peak > 0
    assert made.model.layers[0].weight.grad is gradient
    assert not made.model.training
    assert float(made.model.seen) == 0


def test_blocks_are_chosen_despite_expanded_buffers() -> None:
    made = job()
    choose_blocks(made, activation_memory=1)
    assert float(made.model.seen) == 0


def test_a_trick_is_checked_despite_expanded_buffers() -> None:
    result = gate(job, [ForeachOptimizer()], 0)
    assert result.passed, result.sentence
    assert gate(job, [Checkpointing(("layers",))], 0).passed


def test_values_are_written_to_all_elements() -> None:
    def changed(context: Any) -> None:
        model = Masked()
        with context(model):
            model.mask[0].add_(1)
            model.seen += 1
        assert torch.equal(model.mask, torch.ones(4, 6))
        assert float(model.seen) == 0

    changed(unchanged)
    base = torch.zeros(3)
    write_values(base.expand(2, 3), torch.tensor([[1.0, 2.0, 3.0]] * 2))
    assert base.tolist() == [1.0, 2.0, 3.0]
