"""tundish.Loader, decoding on the CPU. Batches are copied to the GPU and finished there."""

from . import ours
from .feed import Feed, Job

NAME = "tundish, CPU decodes"


def make(job: Job) -> Feed:
    return ours.feed(job, job.threads, device="cuda", decode="cpu")
