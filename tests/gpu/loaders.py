"""Loaders for the GPU checks: with device="cuda" in every decoding mode, and without it."""

from __future__ import annotations

from typing import Any

import torch
import tundish
from tundish import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROP = [T.RandomResizedCrop(64), T.RandomHorizontalFlip()]
VALUES = [T.ToDtype("bfloat16", scale=True), T.Normalize(MEAN, STD)]
MODES: dict[str, dict[str, Any]] = {
    "cpu": {"decode": "cpu"},
    "gpu": {"decode": "gpu"},
    "auto": {"decode": "auto"},
    "resident": {"resident": True},
}


def loader(path: Any, batch_size: int = 16, **more: Any) -> tundish.Loader:
    options: dict[str, Any] = {"shuffle": True, "seed": 5, "return_index": True, **more}
    options.setdefault("transforms", [*CROP, *VALUES])
    return tundish.Loader(path, batch_size, **options)


def on_gpu(path: Any, mode: str, batch_size: int = 16, /, **more: Any) -> tundish.Loader:
    return loader(path, batch_size, device="cuda", **MODES[mode], **more)


def same(gpu_batch: Any, cpu_batch: Any) -> None:
    for a, b in zip(gpu_batch, cpu_batch, strict=True):
        assert a.is_cuda
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.stride() == b.stride()
        assert torch.equal(a.cpu(), b), "the values differ"


def compare(gpu_loader: tundish.Loader, cpu_loader: tundish.Loader, epochs: int = 2) -> int:
    count = 0
    for _ in range(epochs):
        for one, other in zip(gpu_loader, cpu_loader, strict=True):
            same(one, other)
            count += 1
    return count
