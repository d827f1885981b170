"""nvJPEG through torchvision: decodes a batch between two steps, then crops and resizes on the GPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import torch

from .feed import CLASSES, SIDE, Batch, Feed, Job, Normalize

NAME = "nvJPEG loop"


def make(job: Job) -> Feed:
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2

    files = [
        torch.frombuffer(bytearray(Path(file).read_bytes()), dtype=torch.uint8)
        for file in job.files
    ]
    crop = v2.RandomResizedCrop(SIDE, antialias=True)
    augment = v2.Compose([crop, v2.RandomHorizontalFlip()])
    normalize = Normalize(job.device)
    turns = itertools.cycle(range(len(files)))

    def batches() -> Iterator[Batch]:
        while True:
            places = list(itertools.islice(turns, job.batch))
            decoded = decode_jpeg(
                [files[place] for place in places], ImageReadMode.RGB, device=job.device
            )
            images = torch.stack([augment(image) for image in decoded])
            labels = torch.tensor([place % CLASSES for place in places], device=job.device)
            yield normalize(images), labels

    return Feed(batches())
