"""The script with one line changed, and a lanes pack of its files."""

import tundish

from ..common.process import Job, run
from .script import epochs, of_photos


def batches(job: Job):
    loader = tundish.accelerate(of_photos(job), pack=job.pack, threads=job.threads)
    assert "which has these files" in str(loader.report), str(loader.report)
    return epochs(loader, job)


if __name__ == "__main__":
    run(batches)
