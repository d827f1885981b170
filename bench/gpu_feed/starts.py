"""Measures the time until a loader's first batch, and how long the ends of epochs take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from .feed import Feed, Job
from .step import Training, clock, train

EPOCH_STEPS, ENDS = 8, 3


@dataclass(frozen=True)
class Start:
    first_batch_s: float  # seconds until the first batch is usable on the GPU
    end_host_steps: float  # longest time in next() at the end of an epoch, in units of steps
    end_gpu_steps: float  # longest wait of the GPU at the end of an epoch, in units of steps


def measure_start(make: Callable[[Job], Feed], job: Job, training: Training) -> Start:
    """Measures a new loader with short epochs. The CUDA context must already exist."""
    clock(job.device).finish()
    begin = time.perf_counter()
    feed = make(replace(job, epoch_steps=EPOCH_STEPS))
    try:
        batch = next(feed)
        clock(job.device).finish()
        first = time.perf_counter() - begin
        training(*batch)
        seen = train(feed, training, EPOCH_STEPS * (ENDS + 1) - 1)
    finally:
        feed.close()
    step = statistics.median(seen.whole)
    ends = [EPOCH_STEPS * (number + 1) - 1 for number in range(ENDS)]  # first steps of epochs
    host, gpu = (max(waits[end] for end in ends) for waits in (seen.host, seen.gpu))
    return Start(first, host / step, gpu / step)
