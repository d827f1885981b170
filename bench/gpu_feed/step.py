"""The training step, the device clock, and timed steps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch.nn import functional

from .feed import CLASSES, Batch, Feed

# Maximum number of steps that the loop may be ahead of the GPU. A loop that never reads its loss gets
# ahead until the driver's queue is full. Any call then blocks, even in next(), and waiting for space in
# the queue would count as waiting for data.
AHEAD = 3


class Training:
    """The training step: forward, backward and SGD in bfloat16, channels_last, compiled for one shape."""

    def __init__(self, model: str, device: str) -> None:
        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = True
        self.model = _model(model).to(device, torch.bfloat16, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4, fused=True
        )
        self.device = device
        self.compiled = device == "cuda"
        self.why_not = ""  # the reason if the step is not compiled
        self._loss = self._eager_loss
        if device == "cpu":
            torch.set_num_threads(1)  # in a dry run, leave the other cores to the loaders
        if self.compiled:
            torch.compiler.reset()  # drops the previous model
            self._loss = torch.compile(self._eager_loss, fullgraph=True, dynamic=False)
        self.last_loss: Any = None
        self._first = [p.detach().clone() for p in self.model.state_dict().values()]

    def restart(self) -> None:
        """Restores the initial weights, so that all turns train alike and no training diverges."""
        with torch.no_grad():
            for value, first in zip(self.model.state_dict().values(), self._first, strict=True):
                value.copy_(first)
            for state in self.optimizer.state.values():
                if state.get("momentum_buffer") is not None:
                    state["momentum_buffer"].zero_()

    def _eager_loss(self, images: Any, labels: Any) -> Any:
        return functional.cross_entropy(self.model(images).float(), labels)

    def __call__(self, images: Any, labels: Any) -> None:
        loss = self._loss(images, labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.last_loss = loss.detach()

    def warm_up(self, batch: Batch, steps: int = 5) -> None:
        """Compiles the step. If that fails, prints a message and trains without compilation."""
        try:
            self(*batch)
        except Exception as error:
            if not self.compiled:
                raise
            self.compiled, self.why_not = False, f"{type(error).__name__}: {error}"[:400]
            self._loss = self._eager_loss
        for _ in range(steps):
            self(*batch)
        clock(self.device).finish()


def _model(name: str) -> Any:
    if name == "tiny":
        return torch.nn.Sequential(
            torch.nn.AvgPool2d(32),
            torch.nn.Conv2d(3, 8, 1),
            torch.nn.Flatten(),
            torch.nn.Linear(8 * 7 * 7, CLASSES),
        )
    from torchvision import models

    return models.get_model(name, weights=None)


class DeviceClock:
    """Marks times on the training stream with CUDA events. A thread that waits for an event sleeps."""

    def mark(self) -> Any:
        event = torch.cuda.Event(enable_timing=True, blocking=True)
        event.record()
        return event

    def wait(self, mark: Any) -> None:
        mark.synchronize()

    def between_s(self, first: Any, second: Any) -> float:
        return float(first.elapsed_time(second)) / 1e3

    def finish(self) -> None:
        self.wait(self.mark())
        torch.cuda.synchronize()


class WallClock(DeviceClock):
    """Marks times with the wall clock, for a dry run without a GPU."""

    def mark(self) -> Any:
        return time.perf_counter()

    def wait(self, mark: Any) -> None:
        pass

    def between_s(self, first: Any, second: Any) -> float:
        return float(second - first)

    def finish(self) -> None:
        pass


def clock(device: str) -> DeviceClock:
    return DeviceClock() if device == "cuda" else WallClock()


@dataclass(frozen=True)
class Steps:
    """The times of several steps in seconds."""

    begin: float  # time.perf_counter() at the start
    end: float  # time.perf_counter() when the GPU was idle again
    host: list[float]  # per step, the time that the trainer's thread spent in next()
    gpu: list[float]  # per step, the time that the training stream waited for the next batch
    whole: list[float]  # per step, the time on the training stream from one step's end to the next


def train(feed: Feed, training: Training, steps: int, ahead: int = AHEAD) -> Steps:
    """Runs steps. Starts with an idle GPU, and returns when the GPU is idle again."""
    time_of = clock(training.device)
    ends, arrivals, host = [], [], []
    start = time.perf_counter()
    for number in range(steps):
        if number >= ahead:
            time_of.wait(ends[number - ahead + 1])
        ends.append(time_of.mark())
        begin = time.perf_counter()
        images, labels = next(feed)
        host.append(time.perf_counter() - begin)
        arrivals.append(time_of.mark())
        training(images, labels)
    ends.append(time_of.mark())
    time_of.finish()
    end = time.perf_counter()
    gpu = [time_of.between_s(*pair) for pair in zip(ends, arrivals)]
    whole = [time_of.between_s(*pair) for pair in pairwise(ends)]
    return Steps(start, end, host, gpu, whole)
