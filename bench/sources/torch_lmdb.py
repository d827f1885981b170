"""LMDB files, read with the package lmdb and torch's DataLoader.

Uses one transaction for all reads, as the package recommends.
"""

import lmdb
import numpy as np

from ..common.process import Job, run
from .torch_samples import batches, holds_jpegs
from .write_files import DATUM_HEAD, RAW_IMAGE


def read(job: Job):
    env = lmdb.open(job.own, subdir=False, readonly=True, lock=False, readahead=False)
    get = env.begin(buffers=True).get

    def pixels(number: int):
        """Reads the pixels of a Datum without parsing protobuf, because their position is known."""
        value = get(f"{number:08d}".encode())
        return np.frombuffer(value, np.uint8, np.prod(RAW_IMAGE), DATUM_HEAD).reshape(RAW_IMAGE)

    return batches(job, (lambda i: get(f"{i:08d}".encode())) if holds_jpegs(job) else pixels)


if __name__ == "__main__":
    run(read)
