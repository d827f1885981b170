"""One contestant's turn in a round: timed steps."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .busy import Busy
from .feed import Feed
from .step import Training, train


@dataclass(frozen=True)
class Turn:
    """Means per step."""

    step_s: float
    gpu_wait_s: float  # time in which the training stream had no batch
    host_wait_s: float  # time of the trainer's thread in next()
    longest_host_wait_s: float  # maximum over the steps
    cpu_s: float  # all threads of this process, and worker processes
    busy: float | None  # share of time in which the GPU ran any kernel
    loss: float  # loss of the last step


def measure(feed: Feed, training: Training, steps: int, warm_up: int, busy: Busy) -> Turn:
    """Measures `steps` steps after `warm_up` steps.

    Starts with no prepared batches: batches made during the others' turns would hide a loader that
    is slightly too slow.
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
