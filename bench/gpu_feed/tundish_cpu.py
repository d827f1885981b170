"""The loader, decoding on the CPU; copied and finished on the GPU."""

from . import ours
from .feed import Feed, Job

NAME = "tundish, CPU decodes"


def make(job: Job) -> Feed:
    return ours.feed(job, job.threads, device="cuda", decode="cpu")
