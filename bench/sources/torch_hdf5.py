"""HDF5 files, read with h5py and torch's DataLoader."""

import h5py

from ..common.process import Job, run
from .torch_samples import batches, holds_jpegs


def read(job: Job):
    file = h5py.File(job.own, "r")
    return batches(job, file["image" if holds_jpegs(job) else "features"].__getitem__)


if __name__ == "__main__":
    run(read)
