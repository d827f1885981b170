"""Finds tensors that stay in memory longer than needed, and the line that created each tensor."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from ..batch_structure import tensors_of
from ..job import Job
from ..source_lines import Line
from ..step import Step
from .live_memory import Block, LiveMemory
from .training_tensors import find_owners, owned_tensors

_SMALLEST_SHARE = 0.01  # idle tensors below this fraction of the peak are not reported


@dataclass(frozen=True)
class LongLived:
    """Tensors from one line of code that stay in memory longer than needed.

    `reason` is one of:

    grows  every training step leaves more of these tensors behind
    kept   the tensors outlive their step, until the next step replaces them
    idle   the tensors are still in memory at the peak, although nothing uses them any more
    """

    reason: str  # "grows", "kept" or "idle"
    file: str  # file of the line that created the tensors
    line: int  # line number; 0 if the backward pass created the tensors
    text: str  # text of the line
    count: int  # tensors alive after the last step; for "idle", at the peak
    bytes: int  # memory of these tensors
    bytes_per_step: int = 0  # growth per step; only for "grows"
    holds_graph: bool = False  # whether a tensor keeps its autograd graph alive

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: {self.text}" if self.line else "(in the backward pass)"
        more = f", {self.bytes_per_step:,} bytes more each step" if self.reason == "grows" else ""
        graph = "; holds its graph: keep the tensor's .detach()" if self.holds_graph else ""
        return f"{self.reason}: {self.count} tensors, {self.bytes:,} bytes{more}: {where}{graph}"


def find_long_lived(
    job: Job | Step | Callable[[Any], Any], batch: Any = None, *, steps: int = 3
) -> list[LongLived]:
    """Finds tensors that stay in memory longer than a training step needs them, worst first.

    Trains one step, then `steps` more, and examines the tensors that each step leaves behind.

    job    a Job or a Step; or a function that trains on one batch, exactly as your loop does. If your
           loop keeps tensors in a list, the function must too. The return value is ignored
    batch  the argument of the function or the step
    steps  number of steps after the first one
    """
    step, batches = _callable(job, batch)
    live = LiveMemory(lines=True, stop=find_long_lived.__code__)
    live.name((tensor for batch in batches for tensor in tensors_of(batch)), "other")
    left: list[dict[Line, list[Block]]] = []
    last_began = 0
    owners = find_owners()
    with live:
        for number in range(steps + 1):
            live.peaks.clear()
            live.made, last_began = [], live.operations
            step(batches[number % len(batches)])
            with _paused():
                gc.collect()  # reference cycles are freed eventually, so they are no leak
                _name_owned(live, owners)
            left.append(_by_line(live.live.values()))
    return sorted_worst_first([*left_behind(left, last_began), *_idle(live)])


def left_behind(left: list[dict[Line, list[Block]]], last_began: int) -> list[LongLived]:
    """Returns the tensors that the last step left in memory.

    left        blocks that each step left in memory, by line
    last_began  number of the first operation of the last step
    """
    return [
        _kept(line, left)
        for line, blocks in left[-1].items()
        if any(block.made > last_began for block in blocks)  # not blocks created only once
    ]


def sorted_worst_first(found: list[LongLived]) -> list[LongLived]:
    order = {"grows": 0, "kept": 1, "idle": 2}
    return sorted(found, key=lambda entry: (order[entry.reason], -entry.bytes))


def _callable(job: Any, batch: Any) -> tuple[Callable[[Any], Any], list[Any]]:
    if isinstance(job, Job):
        step = Step(job.model, job.optimizer, job.loss_fn)
        return step, job.batches if batch is None else [batch]
    return job, [batch]


def _paused() -> Any:
    return torch.utils._python_dispatch._disable_current_modes()


def _name_owned(live: LiveMemory, owners: list[Any]) -> None:
    """Names the tensors that a training step may keep."""
    for _, tensors in owned_tensors(owners):
        live.name(tensors, "owned")


def _by_line(blocks: Any) -> dict[Line, list[Block]]:
    found: defaultdict[Line, list[Block]] = defaultdict(list)
    for block in blocks:
        if block.kind == "temporary":
            found[block.line].append(block)
    return found


def _kept(line: Line, left: list[dict[Line, list[Block]]]) -> LongLived:
    counts = [len(blocks.get(line, ())) for blocks in left]
    sizes = [sum(block.bytes for block in blocks.get(line, ())) for blocks in left]
    grows = _rises(counts) or _rises(sizes)
    tensors = [block.tensor() for block in left[-1][line] if block.tensor is not None]
    return LongLived(
        reason="grows" if grows else "kept",
        file=line.file,
        line=line.number,
        text=line.text,
        count=counts[-1],
        bytes=sizes[-1],
        bytes_per_step=sizes[-1] - sizes[-2] if grows else 0,
        holds_graph=any(tensor is not None and tensor.grad_fn is not None for tensor in tensors),
    )


def _rises(numbers: list[int]) -> bool:
    return len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))


def _idle(live: LiveMemory) -> list[LongLived]:
    """Returns blocks of the last step that are in memory at the peak but were last used before it."""
    peak = max(live.peaks.values(), key=lambda peak: peak.bytes, default=None)
    if peak is None or live.made is None:
        return []
    counts: Counter[Line] = Counter()
    sizes: Counter[Line] = Counter()
    for block in live.made:
        if block.freed is None:  # already reported as kept
            continue
        if block.kind == "temporary" and block.used < peak.operation < block.freed:
            counts[block.line] += 1
            sizes[block.line] += block.bytes
    return [
        LongLived("idle", line.file, line.number, line.text, counts[line], size)
        for line, size in sizes.items()
        if size >= _SMALLEST_SHARE * peak.bytes
    ]
