"""Trains a small network on a pack for some seconds, to show that it learns."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import tundish
from tundish import transforms as T

SIDE, BATCH, STEPS = 64, 64, 120
MOST_SECONDS = 60  # time limit for slow machines
HOLD_OUT = 5  # every fifth sample is held out for testing


@dataclass(frozen=True)
class Training:
    losses: list[float]  # loss of every step
    accuracy: float  # accuracy on the held-out samples
    chance: float
    classes: int
    held_out: int
    seconds: float
    waited: float  # seconds that the network waited for data
    device: str


def why_not(count: int, classes: int) -> str:
    """Returns why a network cannot learn from such a dataset, or an empty string."""
    if classes < 2:
        return "the images do not have several classes"
    if count < max(20 * classes, 2 * BATCH):
        return f"{count:,} images of {classes:,} classes are too few for training"
    return ""


def network(classes: int) -> Any:
    from torch import nn

    def block(into: int, out: int) -> list[Any]:
        convolution = nn.Conv2d(into, out, 3, stride=2, padding=1, bias=False)
        return [convolution, nn.BatchNorm2d(out), nn.ReLU(inplace=True)]

    layers = [*block(3, 24), *block(24, 48), *block(48, 96), *block(96, 128)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, classes))


def train(pack: str, steps: int = STEPS) -> Training:
    """Trains the network.

    The batches depend only on the pack and the number of steps. On the same machine, so does the result.
    """
    import torch
    from torch.nn.functional import cross_entropy

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(
        max(1, len(os.sched_getaffinity(0)) // 2)
    )  # leaves the other CPUs for decoding
    augment = [
        T.RandomResizedCrop(SIDE, scale=(0.3, 1.0)),
        T.RandomHorizontalFlip(),
        T.Normalize(),
    ]
    loader = tundish.Loader(
        pack, BATCH, transforms=augment, shuffle=True, seed=0, drop_last=True, return_index=True
    )
    model = network(len(loader.classes)).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)

    begin, losses = time.perf_counter(), []
    done = False
    while not done:
        for images, labels, index in loader:
            seen = index % HOLD_OUT != 0
            images, labels = images[seen].to(device, non_blocking=True), labels[seen].to(device)
            loss = cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
            done = len(losses) == steps or time.perf_counter() - begin > MOST_SECONDS
            if done:
                break
    values = [float(loss) for loss in losses]
    seconds, waited = time.perf_counter() - begin, loader.stats()["data/wait_s"]
    loader.close()
    right, held_out = _test(pack, model, device)
    classes = len(loader.classes)
    return Training(
        values, right / held_out, 1 / classes, classes, held_out, seconds, waited, str(device)
    )


def _test(pack: str, model: Any, device: Any) -> tuple[int, int]:
    """Returns the number of correct predictions on the held-out samples, and the number of these samples."""
    import torch

    transforms = [T.Resize(SIDE * 9 // 8), T.CenterCrop(SIDE), T.Normalize()]
    right = total = 0
    model.eval()
    with (
        torch.no_grad(),
        tundish.Loader(pack, BATCH, transforms=transforms, return_index=True) as loader,
    ):
        for images, labels, index in loader:
            fresh = index % HOLD_OUT == 0
            guess = model(images[fresh].to(device)).argmax(1).cpu()
            right += int((guess == labels[fresh]).sum())
            total += int(fresh.sum())
    return right, total
