"""The interface of a contestant: an endless supply of batches for the training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Batch = tuple[Any, Any]  # (images (N, 3, 224, 224) in bfloat16 and channels_last, int64 labels)

SIDE, CLASSES = 224, 1000
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Job:
    packs: list[str]  # copies of one pack, read as one dataset
    images: int  # number of images in all packs
    files: list[str]  # the same photos as JPEG files
    batch: int
    device: str  # "cuda", or "cpu" for a dry run
    threads: int  # threads for decoding on the CPU
    workers: int  # worker processes of torch's DataLoader
    epoch_steps: int
    first: Batch | None = None  # the first batch, made on the CPU and copied to the device


@dataclass
class Feed:
    batches: Iterator[Batch]
    close: Callable[[], None] = lambda: None
    drain: Callable[[], None] = lambda: (
        None
    )  # drops batches that were prepared during the turns of other contestants
    others_cpu_s: Callable[[], float] = lambda: 0.0  # CPU seconds of its worker processes
    decoding: Callable[[], str | None] = lambda: None  # where the loader says that it decodes
    threads: int | None = None  # number of threads of the loader

    def __next__(self) -> Batch:
        return next(self.batches)


class Normalize:
    """Normalizes uint8 images on the device, as the loaders other than tundish do after the copy."""

    def __init__(self, device: str) -> None:
        import torch

        scale = [1 / (255 * std) for std in STD]
        bias = [-mean / std for mean, std in zip(MEAN, STD, strict=True)]
        self._scale, self._bias = (
            torch.tensor(values, dtype=torch.bfloat16, device=device).view(3, 1, 1)
            for values in (scale, bias)
        )
        self._to = {"dtype": torch.bfloat16, "memory_format": torch.channels_last}

    def __call__(self, images: Any) -> Any:
        return images.to(**self._to).mul_(self._scale).add_(self._bias)
