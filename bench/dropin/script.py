"""The data loading of three typical training scripts. The contestants differ in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from ..common.process import Job

AS_FLOATS = [
    v2.ToImage(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
]
TRAIN = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *AS_FLOATS]
EVALUATE = [v2.Resize(256), v2.CenterCrop(224), *AS_FLOATS]  # deterministic


def of_photos(job: Job, steps: list[Any] = TRAIN, shuffle: bool = True) -> DataLoader[Any]:
    dataset = ImageFolder(Path(job.files[0]).parents[1], v2.Compose(steps))
    workers = {"num_workers": job.threads, "persistent_workers": True}
    return DataLoader(dataset, job.batch, shuffle=shuffle, drop_last=True, **workers)


class Readings(Dataset[Any]):
    """A user's dataset, with code that no library can replace: windows of a recording, with noise."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.recording = np.random.default_rng(0).normal(size=count + 20_000).astype(np.float32)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        window = self.recording[index : index + 12_000]
        rng = np.random.default_rng(index)
        noise = rng.normal(0, 0.1, 12_000).astype(np.float32)
        return torch.from_numpy(window + noise).view(3, 40, 100), index % 10


def of_readings(job: Job) -> DataLoader[Any]:
    workers = {"num_workers": job.threads, "persistent_workers": True}
    return DataLoader(Readings(job.count), job.batch, shuffle=True, drop_last=True, **workers)


def epochs(loader: Any, job: Job) -> Any:
    for _ in range(job.epochs):
        yield from loader
