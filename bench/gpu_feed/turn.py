"""Runs and times one contestant's turn in a round."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .busy import Busy
from .feed import Feed
from .step import Training, train


@dataclass(frozen=True)
class Turn:
    """The results of a turn: means per step."""

    step_s: float
    gpu_wait_s: float  # time that the training stream waited for a batch
    host_wait_s: float  # time that the trainer's thread spent in next()
    longest_host_wait_s: float  # longest time in next() of all steps
    cpu_s: float  # CPU time of all threads of this process and of worker processes
    busy: float | None  # share of time in which the GPU ran any kernel
    loss: float  # loss of the last step


def measure(feed: Feed, training: Training, steps: int, warm_up: int, busy: Busy) -> Turn:
    """Measures `steps` steps after `warm_up` steps.

    Drops prefetched batches first. Batches that were prepared during other turns would hide that a
    loader is slightly too slow.
    """
    training.restart()
    feed.drain()
    train(feed, training, warm_up)
    cpu = time.process_time() + feed.others_cpu_s()
    seen = train(feed, training, steps)
    cpu = time.process_time() + feed.others_cpu_s() - cpu
    return Turn(
        step_s=(seen.end - seen.begin) / steps,
        gpu_wait_s=sum(seen.gpu) / steps,
        host_wait_s=sum(seen.host) / steps,
        longest_host_wait_s=max(seen.host),
        cpu_s=cpu / steps,
        busy=busy.share(seen.begin, seen.end),
        loss=float(training.last_loss),
    )
