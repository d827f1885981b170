"""The same, accelerated: as many worker threads in the place of processes."""

import logging

import tundish

from ..common.process import Job, run
from .script import epochs, of_pictures


def batches(job: Job):
    logging.getLogger("tundish").setLevel(logging.ERROR)  # what differs is known here
    with tundish.accelerate(of_pictures(job), workers="threads") as loader:
        assert loader.report.workers == "threads", str(loader.report)
        yield from epochs(loader, job)


if __name__ == "__main__":
    run(batches)
