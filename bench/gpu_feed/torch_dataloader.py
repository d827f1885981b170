"""torch's DataLoader with torchvision in worker processes.

The workers decode, crop and resize. Batches go through page-locked memory and asynchronous copies, and
are normalized on the GPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, Dataset

from .feed import CLASSES, SIDE, Batch, Feed, Job, Normalize

NAME = "torch DataLoader"
AHEAD = 2  # prefetched batches per worker


class Photos(Dataset[Any]):
    """A dataset that repeats the photos, so that it lasts longer than any measurement."""

    def __init__(self, files: list[str], length: int) -> None:
        from torchvision.transforms import v2

        self.files, self.length = files, length
        crop = v2.RandomResizedCrop(SIDE, antialias=True)
        self.augment = v2.Compose([crop, v2.RandomHorizontalFlip()])

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> tuple[Any, int]:
        from torchvision.io import ImageReadMode, decode_jpeg, read_file

        place = number % len(self.files)
        image = decode_jpeg(read_file(self.files[place]), ImageReadMode.RGB)
        return self.augment(image), place % CLASSES


def cpu_s(process: int) -> float:
    """Returns the CPU seconds that a process has used so far."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")


def make(job: Job) -> Feed:
    batches = iter(
        DataLoader(
            Photos(job.files, job.batch * 100_000),
            job.batch,
            num_workers=job.workers,
            prefetch_factor=AHEAD,
            pin_memory=job.device == "cuda",
        )
    )
    workers = [worker.pid for worker in batches._workers]

    def on_device() -> Iterator[Batch]:
        normalize = Normalize(job.device)
        for images, labels in batches:
            on_device = images.to(job.device, non_blocking=True)
            yield normalize(on_device), labels.to(job.device, non_blocking=True)

    def drain() -> None:
        for _ in range(AHEAD * job.workers):
            next(batches)

    return Feed(
        on_device(),
        close=batches._shutdown_workers,
        drain=drain,
        others_cpu_s=lambda: sum(map(cpu_s, workers)),
    )
