"""The loader, from a pack with unchanged JPEGs: shows the benefit of re-coding."""

import torch  # noqa: F401

from .tundish_numpy import batches, run

if __name__ == "__main__":
    run(lambda job: batches(job, job.jpeg_pack))
