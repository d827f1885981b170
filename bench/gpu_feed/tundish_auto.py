"""tundish.Loader, which chooses where to decode."""

import os

from . import ours
from .feed import Feed, Job

NAME = "tundish, auto"
THREADS = 9


def make(job: Job) -> Feed:
    threads = min(THREADS, len(os.sched_getaffinity(0)))
    return ours.feed(job, threads, device="cuda", decode="auto")
