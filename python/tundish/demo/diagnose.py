"""Runs the doctor on the demo's training, once with torch's DataLoader and once with Tundish."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tundish
from tundish import transforms as T

from .torch_comparison import Crops
from .train import BATCH, SIDE, network

MOST_SECONDS = 15.0  # time limit of each of the two runs
LEAST_STEPS = 5
STEPS = 10


@dataclass(frozen=True)
class Diagnosis:
    """The doctor's verdict on one of the two runs, and its report as JSON."""

    sentence: str
    step_s: float | None
    ceiling_s: float | None
    report: Mapping[str, object]


class Photos(Crops):
    """The same dataset as Crops, with float images and labels, for training."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__(files, SIDE)
        names = sorted({Path(file).parent.name for file in files})
        self.labels = [names.index(Path(file).parent.name) for file in files]

    def __getitem__(self, index: int) -> Any:
        pixels, used = self.crop(index)
        return (pixels.float() / 255 - 0.45) / 0.225, self.labels[used]


def diagnose(
    pack: str, files: Sequence[str], most_seconds: float = MOST_SECONDS
) -> dict[str, Diagnosis]:
    """Diagnoses torch's DataLoader with a worker per CPU ("before") and tundish.Loader ("after")."""
    import torch
    from torch.utils.data import DataLoader

    photos: Any = Photos(files)
    theirs = DataLoader(
        photos,
        BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=len(os.sched_getaffinity(0)),
        persistent_workers=True,
        pin_memory=torch.cuda.is_available(),
    )
    out = {"before": _diagnosis(theirs, len(set(photos.labels)), most_seconds)}
    transforms = [T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(), T.Normalize()]
    with tundish.Loader(pack, BATCH, transforms=transforms, shuffle=True, drop_last=True) as ours:
        out["after"] = _diagnosis(ours, len(ours.classes), most_seconds)
    return out


def _diagnosis(loader: Iterable[Any], classes: int, most_seconds: float) -> Diagnosis:
    with tundish.doctor(steps=STEPS, layers=False) as doctor:
        _train(loader, classes, doctor, time.monotonic() + most_seconds)
    verdict = doctor.verdict
    found = verdict.figures
    step_s, ceiling_s = (None, None) if found is None else (found.step_s, found.ceiling_s)
    return Diagnosis(verdict.sentence, step_s, ceiling_s, verdict.as_json())


def _train(loader: Iterable[Any], classes: int, doctor: Any, deadline: float) -> None:
    import torch
    from torch.nn.functional import cross_entropy

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = network(classes).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    steps = 0
    while True:
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            loss = cross_entropy(model(images), labels.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps >= LEAST_STEPS and (doctor.is_done or time.monotonic() > deadline):
                return
