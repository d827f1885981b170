"""tundish.Loader, which reads files of any of these formats directly."""

import tundish
from tundish import transforms as T

from ..common.process import Job, run
from .torch_samples import holds_jpegs


def read(job: Job):
    transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()] if holds_jpegs(job) else []
    loader = tundish.Loader(
        job.own,
        job.batch,
        transforms=transforms,
        shuffle=True,
        seed=job.seed,
        drop_last=True,
        threads=job.threads,
        return_index=True,
    )
    for epoch in range(job.epochs):
        for batch in loader:
            yield batch[0], batch[-1] + epoch * job.count


if __name__ == "__main__":
    run(read)
