"""Small training jobs for the CPU, and functions that trials import."""

from __future__ import annotations

import os
import time
from typing import Any

import torch
from torch import nn

Job = tuple[nn.Module, torch.optim.Optimizer, Any, Any]


def cnn() -> Job:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    batch = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
    return model, optimizer, nn.CrossEntropyLoss(), batch


def mlp() -> Job:
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    batch = torch.randn(16, 32), torch.randint(0, 10, (16,))
    return model, torch.optim.AdamW(model.parameters(), 1e-3), nn.CrossEntropyLoss(), batch


def as_dict() -> dict[str, Any]:
    model, optimizer, loss_fn, batch = mlp()
    return {"model": model, "optimizer": optimizer, "loss_fn": loss_fn, "batch": batch}


def own_loss() -> Job:
    """Returns a job whose loss calls the model itself, on a dictionary batch."""
    model, optimizer, _, (inputs, targets) = mlp()

    def loss_fn(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return nn.functional.cross_entropy(model(batch["x"]), batch["y"])

    return model, optimizer, loss_fn, {"x": inputs, "y": targets}


def three_things() -> Any:
    return mlp()[:3]


def forward_fails() -> Job:
    model, optimizer, loss_fn, (inputs, targets) = mlp()
    return model, optimizer, loss_fn, (inputs[:, :31], targets)


def loss_without_gradient() -> Job:
    model, optimizer, _, batch = mlp()
    return model, optimizer, lambda out, targets: out.argmax(1).float().mean(), batch


def label_out_of_range() -> Job:
    model, optimizer, loss_fn, (inputs, targets) = mlp()
    return model, optimizer, loss_fn, (inputs, targets + 12)


def wrong_device() -> Job:
    model, optimizer, loss_fn, batch = mlp()
    return model.to("meta"), optimizer, loss_fn, batch


def other_optimizer() -> Job:
    model, _, loss_fn, batch = mlp()
    return model, mlp()[1], loss_fn, batch


def frozen() -> Job:
    model, optimizer, loss_fn, batch = mlp()
    return model.requires_grad_(False), optimizer, loss_fn, batch


def hangs() -> Job:
    model, optimizer, _, batch = mlp()

    def loss_fn(out: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        time.sleep(600)
        return out.sum()

    return model, optimizer, loss_fn, batch


def build_hangs() -> Job:
    time.sleep(600)
    return mlp()


def hangs_later() -> Job:
    """Returns a job whose third step never ends."""
    model, optimizer, usual, batch = mlp()
    steps = iter(range(2))

    def loss_fn(out: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if next(steps, None) is None:
            time.sleep(600)
        return usual(out, targets)

    return model, optimizer, loss_fn, batch


def dies() -> Job:
    model, optimizer, _, batch = mlp()

    def loss_fn(out: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        os.abort()

    return model, optimizer, loss_fn, batch


def build_raises() -> Job:
    raise RuntimeError("the dataset is not there")


def not_finite() -> Job:
    model, optimizer, loss_fn, (inputs, targets) = mlp()
    return model, optimizer, loss_fn, (inputs * float("nan"), targets)


class Plain(nn.Module):
    """A model that can be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)
