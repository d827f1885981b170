"""Compares tundish.Loader with torch's DataLoader and Pillow on the same files with the same transforms."""

from __future__ import annotations

import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tundish
from tundish import transforms as T

SIDE, BATCH = 224, 64
OURS, THEIRS = "tundish", "torch DataLoader + Pillow"

Rates = dict[str, dict[int, float]]  # images per second, by loader and number of cores
Show = Callable[[str], None]


class Crops:
    """A typical map-style dataset: opens an image, applies RandomResizedCrop and a flip, returns a tensor."""

    def __init__(self, files: Sequence[str], side: int = SIDE) -> None:
        self.files, self.side = files, side

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        return self.crop(index)[0]

    def crop(self, index: int) -> tuple[Any, int]:
        """Returns the pixels, and the index of the file that they come from."""
        import numpy as np
        import torch
        from PIL import Image

        try:
            with Image.open(self.files[index]) as file:
                image = file.convert("RGB")
        except OSError:  # the file is damaged: use the next one
            return self.crop((index + 1) % len(self.files))
        image = image.crop(random_crop(*image.size))
        image = image.resize((self.side, self.side), Image.Resampling.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1), index


def random_crop(width: int, height: int) -> tuple[int, int, int, int]:
    """Returns a random window (left, top, right, bottom), as drawn by torchvision's RandomResizedCrop."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    w, h = min(width, round(height * 4 / 3)), min(height, round(width * 4 / 3))
    return (width - w) // 2, (height - h) // 2, (width + w) // 2, (height + h) // 2


def compare(
    pack: str, files: Sequence[str], show: Show, seconds: float = 2.5, rounds: int = 3
) -> Rates:
    """Returns images per second on one core and on all cores: medians over rounds in which loaders alternate."""
    cpus = sorted(os.sched_getaffinity(0))
    contestants: dict[str, Callable[[int, float], float]] = {OURS: lambda n, s: _ours(pack, n, s)}
    if files and _has_pillow_and_torch():
        contestants[THEIRS] = lambda n, s: _dataloader(files, n, s)
    else:
        show(
            "Pillow or torch is not installed: only this loader is timed (pip install pillow torch)"
        )
    runs: dict[str, dict[int, list[float]]] = {name: {} for name in contestants}
    try:
        for _ in range(rounds):
            for cores in sorted({1, len(cpus)}):
                os.sched_setaffinity(0, cpus[:cores])
                for name, rate in contestants.items():
                    runs[name].setdefault(cores, []).append(rate(cores, seconds))
    finally:
        os.sched_setaffinity(0, cpus)
    return {
        name: {cores: statistics.median(rates) for cores, rates in by_cores.items()}
        for name, by_cores in runs.items()
    }


def _ours(pack: str, threads: int, seconds: float) -> float:
    transforms = [T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip()]
    with tundish.Loader(
        pack, BATCH, transforms=transforms, shuffle=True, threads=threads
    ) as loader:
        return _rate((images for _ in range(10**6) for images, _ in loader), seconds)


def _dataloader(files: Sequence[str], workers: int, seconds: float) -> float:
    from torch.utils.data import DataLoader, RandomSampler

    data = Crops(files)
    endless = RandomSampler(data, replacement=True, num_samples=10**7)
    return _rate(DataLoader(data, BATCH, sampler=endless, num_workers=workers), seconds)


def _rate(batches: Iterable[Any], seconds: float) -> float:
    """Returns images per second, measured for `seconds` and at least two batches. The first batch does not count."""
    images, begin = 0, 0.0
    for number, batch in enumerate(batches):
        now = time.perf_counter()
        if number == 1:
            begin = now
        elif number > 1:
            images += len(batch)
            if number > 2 and now - begin >= seconds:
                break
    return images / (now - begin)


def _has_pillow_and_torch() -> bool:
    try:
        import PIL.Image  # noqa: F401
        import torch.utils.data  # noqa: F401
    except ImportError:
        return False
    return True
