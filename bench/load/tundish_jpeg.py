"""The loader, from a pack with the JPEGs as they came: what re-coding is worth."""

import torch  # noqa: F401

from .tundish_numpy import batches, run

if __name__ == "__main__":
    run(lambda job: batches(job, job.jpeg_pack))
