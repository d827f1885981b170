"""Code shared by the rivals: torch's DataLoader with a function that reads one sample.

The DataLoader runs in the main process, because a worker process would share the single core.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from ..common.process import Job, draw_batches

Reader = Callable[[int], Any]  # returns the bytes of a JPEG, or an array


def holds_jpegs(job: Job) -> bool:
    return Path(job.own).stem == "jpeg"


def cut(data: bytes, draw: list[int]) -> torch.Tensor:
    """Returns the given crop of a JPEG. Decodes and crops with Pillow."""
    x, y, width, height, mirrored = draw
    image = Image.open(io.BytesIO(data)).convert("RGB").crop((x, y, x + width, y + height))
    image = image.resize((224, 224), Image.Resampling.BILINEAR)
    if mirrored:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


class Samples(Dataset):
    def __init__(self, job: Job, reader: Reader) -> None:
        self.reader, self.count = reader, job.count
        self.draws = np.load(job.draws) if holds_jpegs(job) else None

    def __getitem__(self, draw: int):
        content = self.reader(draw % self.count)
        if self.draws is None:
            return torch.from_numpy(np.array(content)), draw
        return cut(bytes(content), self.draws[draw].tolist()), draw


def batches(job: Job, reader: Reader) -> Iterator[Any]:
    yield from DataLoader(Samples(job, reader), batch_sampler=list(draw_batches(job)))
