"""Measures one contestant's turn: a normal call, a CUDA graph, and a plain copy for comparison."""

from __future__ import annotations

import contextlib
import gc
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from .contestant import Contestant

REPLAYS = 50
COPIES = 10
WARM_UP = 3


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Disables garbage collection while the clock runs."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _one_step(contestant: Contestant, fresh: bool, device: str) -> tuple[float, float, float]:
    """Runs a step on an idle device. Returns three times in seconds.

    These are the time until the call returns, the time until the device is done, and the CPU time of all
    threads.
    """
    gather = contestant.gather
    if gather is not None and not fresh:
        gather()
    synchronize(device)
    if device == "cuda":
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
    start, cpu_start = time.perf_counter(), time.process_time()
    if gather is not None and fresh:
        gather()
    contestant.step()
    host, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    if device != "cuda":
        return host, host, cpu
    end.record()
    end.synchronize()
    return host, begin.elapsed_time(end) / 1e3, cpu


def time_steps(
    contestant: Contestant, gradients: Sequence[Sequence[Any]], fresh: bool, steps: int, device: str
) -> dict[str, float]:
    """Returns the medians of `steps` steps: "host", "eager" and "cpu" in seconds.

    With `fresh`, the gradients of every step are at other addresses than in the previous step.
    """
    contestant.assign(gradients[0])
    if contestant.gather is not None:
        contestant.gather()
    contestant.step()
    taken = []
    with without_collection():
        for number in range(steps):
            if fresh:
                contestant.assign(gradients[(number + 1) % len(gradients)])
            taken.append(_one_step(contestant, fresh, device))
    host, eager, cpu = (statistics.median(values) for values in zip(*taken, strict=True))
    return {"host": host, "eager": eager, "cpu": cpu}


def fitting_steps(contestant: Contestant, gradients: Sequence[Any], seconds: float) -> int:
    """Returns how many steps take about this many seconds, from 2 to 50."""
    contestant.assign(gradients)
    contestant.step()  # creates the states
    begin = time.perf_counter()
    contestant.step()
    return max(2, min(50, round(seconds / (time.perf_counter() - begin))))


def capture(contestant: Contestant, gradients: Sequence[Any]) -> Any:
    """Returns a CUDA graph of the step alone. Raises an error if a replay changes no weight."""
    contestant.assign(gradients)
    if contestant.gather is not None:
        contestant.gather()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            contestant.step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        contestant.step()
    before = [weight.clone() for weight in contestant.outputs()]
    graph.replay()
    torch.cuda.synchronize()
    if not any(
        bool((old != new).any()) for old, new in zip(before, contestant.outputs(), strict=True)
    ):
        raise RuntimeError("a replay of the graph changes nothing")
    return graph


def time_graph(graph: Any) -> float:
    """Returns the seconds of a replay, measured with events around many replays."""
    graph.replay()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(REPLAYS):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / REPLAYS  # type: ignore[no-any-return]


class Copy:
    """Measures how many bytes per second dst.copy_(src) reads and writes on the GPU."""

    def __init__(self, mebibytes: int, device: str = "cuda") -> None:
        self._bytes = mebibytes << 20
        self._source = torch.ones(self._bytes // 4, device=device)
        self._out = torch.empty_like(self._source)

    def bytes_per_s(self) -> float:
        self._out.copy_(self._source)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for _ in range(COPIES):
            self._out.copy_(self._source)
        end.record()
        end.synchronize()
        return 2 * self._bytes * COPIES / (begin.elapsed_time(end) / 1e3)  # type: ignore[no-any-return]
