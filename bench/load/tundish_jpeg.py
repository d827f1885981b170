"""tundish.Loader, reading a pack with unchanged JPEGs, which shows what re-coding gains."""

import torch  # noqa: F401

from .tundish_numpy import batches, run

if __name__ == "__main__":
    run(lambda job: batches(job, job.jpeg_pack))
