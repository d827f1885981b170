"""The loader, decoding on the GPU; one thread plans and gathers."""

from . import ours
from .feed import Feed, Job

NAME = "tundish, GPU decodes"


def make(job: Job) -> Feed:
    return ours.feed(job, 1, device="cuda", decode="gpu")
