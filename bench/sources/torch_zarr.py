"""Zarr files, read with the package zarr and torch's DataLoader."""

import zarr

from ..common.process import Job, run
from .torch_samples import batches


def read(job: Job):
    return batches(job, zarr.open(job.own, mode="r")["features"].__getitem__)


if __name__ == "__main__":
    run(read)
