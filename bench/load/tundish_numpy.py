"""tundish.Loader, reading a pack and returning NumPy arrays. This process never imports torch."""

import tundish
from tundish import transforms as T

from ..common.process import Job, run


def batches(job: Job, path: str, backend: str = "torch"):
    transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]
    loader = tundish.Loader(
        path,
        job.batch,
        transforms=transforms,
        shuffle=True,
        seed=job.seed,
        drop_last=True,
        threads=job.threads,
        return_index=True,
        backend=backend,
    )
    for epoch in range(job.epochs):
        for images, _, index in loader:
            yield images, index + epoch * job.count


if __name__ == "__main__":
    run(lambda job: batches(job, job.pack, "numpy"))
