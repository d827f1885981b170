"""The accelerated script with a dataset that keeps torch's worker processes. It must not be slower."""

import logging

import tundish

from ..common.process import Job, run
from .script import epochs, of_readings


def batches(job: Job):
    logging.getLogger("tundish").setLevel(logging.ERROR)  # hides why torch's loader is kept
    loader = tundish.accelerate(of_readings(job))
    assert not loader.report.native
    return epochs(loader, job)


if __name__ == "__main__":
    run(batches)
