"""Creates tundish.Loader for each of its four modes, and checks its pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import tundish
from tundish import transforms as T

from .feed import CLASSES, MEAN, SIDE, STD, Batch, Feed, Job

AHEAD = 8  # larger than the number of batches that a loader prefetches


def loader(job: Job, threads: int, **how: Any) -> tundish.Loader:
    """Creates a loader. `how` has the options device, decode and resident. Empty in a dry run."""
    return tundish.Loader(
        job.packs,
        job.batch,
        transforms=[
            T.RandomResizedCrop(SIDE),
            T.RandomHorizontalFlip(),
            T.ToDtype("bfloat16", scale=True),
            T.Normalize(MEAN, STD),
        ],
        shuffle=True,
        seed=6,
        # Any number of full batches. The step is compiled for one shape, so no batch may be smaller.
        order=tundish.Weighted(np.ones(job.images), draws=job.batch * job.epoch_steps),
        labels=np.arange(job.images) % CLASSES,
        threads=threads,
        on_error="fail",
        **how,
    )


def feed(job: Job, threads: int, **how: Any) -> Feed:
    made = loader(job, threads, **(how if job.device == "cuda" else {}))

    def epochs() -> Iterator[Batch]:
        while True:
            yield from made

    batches = epochs()

    def drain() -> None:
        for _ in range(AHEAD):
            next(batches)

    def decoding() -> str | None:
        return getattr(made, "decoding", None)  # None in a dry run

    return Feed(batches, made.close, drain, decoding=decoding, threads=threads)


def first_batch(job: Job, threads: int) -> Batch:
    """Returns the first batch, made on the CPU and moved to the device."""
    with loader(job, threads) as made:
        images, labels = next(iter(made))
        return images.to(job.device), labels.to(job.device)


def check(batch: Batch, expected: Batch) -> None:
    """Compares two batches bit for bit. Raises an error for wrong pixels, so that nothing is timed."""
    for name, one, other in zip(("images", "labels"), batch, expected, strict=True):
        about = (one.dtype, one.shape, one.device)
        if about != (other.dtype, other.shape, other.device):
            raise ValueError(f"{name}: {about}, and {other.dtype, other.shape, other.device}")
    images, expected_images = batch[0], expected[0]
    if not images.is_contiguous(memory_format=torch.channels_last):
        raise ValueError(f"images are not channels_last: strides {images.stride()}")
    bits, expected_bits = images.view(torch.int16), expected_images.view(torch.int16)
    wrong = (bits != expected_bits).flatten(1).any(1).nonzero().flatten().tolist()
    if wrong:
        raise ValueError(f"{len(wrong)} of {len(images)} images differ from the CPU's: {wrong[:9]}")
    if not torch.equal(batch[1], expected[1]):
        raise ValueError("labels differ from the CPU's")
