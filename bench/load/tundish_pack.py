"""The loader, from a pack."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.process import Job, run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import torch  # noqa: F401  (the loader hands out its tensors)
import tundish


def batches(job: Job, path: str = ""):
    transforms = [tundish.RandomResizedCrop(224), tundish.RandomHorizontalFlip()]
    loader = tundish.Loader(
        path or job.pack,
        job.batch,
        transforms=transforms,
        shuffle=True,
        seed=job.seed,
        drop_last=True,
        threads=job.threads,
        return_index=True,
    )
    for epoch in range(job.epochs):
        for images, _, index in loader:
            yield images, index + epoch * job.count


if __name__ == "__main__":
    run(batches)
