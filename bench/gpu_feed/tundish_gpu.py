"""tundish.Loader, decoding on the GPU. One thread plans the batches and gathers their records."""

from . import ours
from .feed import Feed, Job

NAME = "tundish, GPU decodes"


def make(job: Job) -> Feed:
    return ours.feed(job, 1, device="cuda", decode="gpu")
