"""A .npy file, read with NumPy's memory map and torch's DataLoader."""

import numpy as np

from ..common.process import Job, run
from .torch_samples import batches

if __name__ == "__main__":

    def read(job: Job):
        return batches(job, np.load(job.own, mmap_mode="r").__getitem__)

    run(read)
