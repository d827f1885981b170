"""One contestant's turn in a round: steps that are timed."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .busy import Busy
from .feed import Feed
from .step import Training, train


@dataclass(frozen=True)
class Turn:
    """Per step."""

    step_s: float
    gpu_wait_s: float  # the training stream had no batch
    host_wait_s: float  # the trainer's thread was in next()
    longest_host_wait_s: float  # of any step
    cpu_s: float  # all threads of this process, and the worker processes
    busy: float | None  # share of the time in which the GPU ran anything
    loss: float  # of the last step


def measure(feed: Feed, training: Training, steps: int, warm_up: int, busy: Busy) -> Turn:
    """`warm_up` steps first. They begin with nothing made ahead: batches from the time in which
    others had their turn would hide a loader that is a little too slow.
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
