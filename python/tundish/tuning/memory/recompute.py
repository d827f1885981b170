"""Chooses submodules for gradient checkpointing: the cheapest ones that meet a memory target.

One forward pass records which tensors autograd keeps, and inside which modules. A checkpointed block
keeps only its inputs. Its cost is a second forward pass per step; its benefit is the freed memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..._process.random_state import RandomState
from ..batch_structure import tensors_of
from ..job import Job, JobSource
from ..preserved_state import write_values
from ..step import Step
from .memory_limit import limit_bytes
from .recomputed_block import (
    Versions,
    changing_buffers,
    copied,
    holds_same,
    is_overwritten,
    versions_of,
)

Clock = Callable[[], float]
TIMED_PASSES = 3
MOST_LIMITS = 16


@dataclass(frozen=True)
class RecomputableBlock:
    """A submodule that can be checkpointed."""

    name: str
    freed_bytes: int  # bytes that checkpointing frees, minus the inputs that it keeps
    seconds: float  # time of the forward pass
    before_bytes: int = 0  # bytes that autograd holds when the block begins, without checkpointing


@dataclass(frozen=True)
class BlockChoice:
    """The submodules that `choose_blocks` selected for gradient checkpointing.

    Pass `blocks` to `Checkpointing(blocks)`.
    """

    blocks: tuple[str, ...]  # names of the submodules
    target_bytes: int  # limit of activation memory
    plain_bytes: int  # peak activation memory without checkpointing
    peak_bytes: int  # predicted peak activation memory with these blocks checkpointed
    seconds: float  # predicted extra time per step

    @property
    def reached(self) -> bool:
        """Whether the predicted peak is within `target_bytes`."""
        return self.peak_bytes <= self.target_bytes


def choose_blocks(job: Job, activation_memory: int | str) -> BlockChoice:
    """Chooses submodules for gradient checkpointing so that activations fit into a memory limit.

    Returns the choice that costs the least time. If no choice meets the limit, returns the one with
    the lowest peak. Activations are the tensors that autograd keeps for the backward pass. Weights,
    gradients, optimizer state and the batch are not counted. The model stays unchanged.

    job                the training job
    activation_memory  limit in bytes, or a string such as "4GiB"
    """
    target_bytes = limit_bytes(activation_memory, "choose_blocks: activation_memory")
    plain, blocks = measure_blocks(job)
    chosen = select(blocks, plain, target_bytes)
    return BlockChoice(
        blocks=tuple(block.name for block in chosen),
        target_bytes=target_bytes,
        plain_bytes=plain,
        peak_bytes=predicted_peak(chosen, plain),
        seconds=sum(block.seconds for block in chosen),
    )


def choose_for_peak(
    source: JobSource, seed: int, peak_bytes: int, target_bytes: int
) -> tuple[str, ...]:
    """Returns blocks that reduce the peak of a step from `peak_bytes` to about `target_bytes`.

    Runs in a child process. Activations are measured in the plain step. With other tricks,
    checkpointing is assumed to free the same fraction of the activations. Weights, gradients and
    optimizer state do not shrink.
    """
    job = source.make(seed)
    plain, blocks = measure_blocks(job)
    fixed = sum(p.numel() * p.element_size() for p in job.model.parameters())
    held = max(1, peak_bytes - 2 * fixed)
    share = max(0.02, 1 - (peak_bytes - target_bytes) / held)
    return tuple(block.name for block in select(blocks, plain, int(share * plain)))


def predicted_peak(chosen: list[RecomputableBlock], plain_bytes: int) -> int:
    """Returns the predicted peak of activation memory.

    The peak is at the end of the forward pass or while a block is recomputed. When a block is
    recomputed, the activations of later blocks are already freed.
    """
    freed = peak = 0
    for block in sorted(chosen, key=lambda block: block.before_bytes):
        peak = max(peak, block.before_bytes - freed + block.freed_bytes)
        freed += block.freed_bytes
    return max(peak, plain_bytes - freed)


def select(
    blocks: list[RecomputableBlock], plain_bytes: int, target_bytes: int
) -> list[RecomputableBlock]:
    """Chooses the blocks that free the most bytes per second. Tries several limits on the block size.

    A large block frees much memory, but needs all of it again while it is recomputed.
    """
    if plain_bytes <= target_bytes:
        return []
    sizes = sorted({block.freed_bytes for block in blocks})
    limits = sizes[:: -max(1, len(sizes) // MOST_LIMITS)]
    choices = [
        select_greedily(
            [block for block in blocks if block.freed_bytes <= limit], plain_bytes, target_bytes
        )
        for limit in limits
    ]

    def rank(chosen: list[RecomputableBlock]) -> tuple[int, float, int]:
        peak = predicted_peak(chosen, plain_bytes)
        return max(peak, target_bytes), sum(block.seconds for block in chosen), len(chosen)

    return min(choices, key=rank, default=[])


def select_greedily(
    blocks: list[RecomputableBlock], plain_bytes: int, target_bytes: int
) -> list[RecomputableBlock]:
    """Repeatedly adds the block that frees the most bytes per extra second, until the target is met.

    A block replaces chosen blocks inside it, so only the difference to these blocks counts.
    """
    left = {block.name: block for block in blocks}
    chosen: dict[str, RecomputableBlock] = {}
    inside: dict[str, list[str]] = {
        block.name: [] for block in blocks
    }  # chosen blocks inside each block

    def worth(block: RecomputableBlock) -> float:
        parts = [chosen[name] for name in inside[block.name]]
        freed = block.freed_bytes - sum(part.freed_bytes for part in parts)
        seconds = block.seconds - sum(part.seconds for part in parts)
        return freed / max(seconds, 1e-9)

    while left and predicted_peak(list(chosen.values()), plain_bytes) > target_bytes:
        best = max(left.values(), key=lambda block: (worth(block), block.name))
        if worth(best) <= 0:
            break
        parts = inside[best.name]
        for name in parts:
            del chosen[name]
        chosen[best.name] = best
        for outer in enclosing_modules(best.name):
            if outer in inside:
                inside[outer] = [n for n in inside[outer] if n not in parts] + [best.name]
        left = {
            name: block
            for name, block in left.items()
            if name != best.name and best.name not in enclosing_modules(name)
        }
    return drop_unneeded(list(chosen.values()), plain_bytes, target_bytes)


def drop_unneeded(
    chosen: list[RecomputableBlock], plain_bytes: int, target_bytes: int
) -> list[RecomputableBlock]:
    """Drops blocks that later choices made unnecessary. Starts with the most expensive block."""
    goal = max(target_bytes, predicted_peak(chosen, plain_bytes))
    for block in sorted(chosen, key=lambda block: -block.seconds):
        others = [other for other in chosen if other is not block]
        if predicted_peak(others, plain_bytes) <= goal:
            chosen = others
    return chosen


def enclosing_modules(name: str) -> list[str]:
    """Returns the names of the modules that contain a module: "a" and "a.b" for "a.b.c"."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def measure_blocks(
    job: Job, clock: Clock = time.perf_counter
) -> tuple[int, list[RecomputableBlock]]:
    """Returns the bytes that autograd keeps in a step, and the blocks that could free memory."""
    step = Step(job.model, job.optimizer, job.loss_fn)
    batch = job.batches[0]
    state = RandomState()
    buffers = [(buffer, buffer.clone()) for buffer in job.model.buffers()]
    try:
        times = [_record_forward(step, batch, clock).seconds for _ in range(TIMED_PASSES)]
        recorded = _record_forward(step, batch, clock)
    finally:
        for buffer, before in buffers:
            write_values(buffer, before)
        state.restore()
    blocks = []
    for name in recorded.inputs:
        seconds = min(pass_seconds.get(name, 0.0) for pass_seconds in [*times, recorded.seconds])
        freed = recorded.freed_by(name)
        if freed > 0 and name not in recorded.refused:
            blocks.append(RecomputableBlock(name, freed, seconds, recorded.before[name]))
    return recorded.total(), blocks


class _ForwardRecorder:
    """Records the storages that autograd keeps in one forward pass, by module.

    Holds references to all tensors, so that no address is reused.
    """

    def __init__(self, device: torch.device, clock: Clock, ignored: set[int]) -> None:
        self._device, self._clock, self._ignored = device, clock, ignored
        self.seconds: dict[str, float] = {}
        self.inputs: dict[str, dict[int, int]] = {}  # sizes of the storages passed to each module
        self.before: dict[str, int] = {}
        self.refused: set[str] = set()
        self._saved: dict[int, int] = {}
        self._saved_in: dict[int, list[tuple[str, ...]]] = {}  # modules running when it was saved
        self._running: list[str] = []
        self._begun: list[tuple[float, tuple[Any, Any], list[Any]]] = []
        self._passed: list[tuple[str, Versions]] = []
        self._alive: list[Any] = []

    def enter(self, name: str, module: torch.nn.Module, given: Any) -> None:
        tensors = list(tensors_of(given))
        self._alive.append(tensors)
        self.inputs.setdefault(name, {}).update(self._storages(tensors))
        self.before.setdefault(name, self.total())
        self._running.append(name)
        self._passed.append((name, versions_of(tensors)))
        self._begun.append((self._now(), (given, copied(given)), changing_buffers(module)))

    def leave(self) -> None:
        end, name = self._now(), self._running.pop()
        begin, (given, before), buffers = self._begun.pop()
        self.seconds[name] = self.seconds.get(name, 0.0) + end - begin
        if not holds_same(before, given) or any(
            buffer._version != version for _, buffer, version in buffers
        ):
            self.refused.add(name)  # a second pass would differ: see recomputed_block.py

    def finish(self) -> None:
        """Refuses modules whose inputs were overwritten, by themselves or before the forward pass ended."""
        self.refused |= {name for name, versions in self._passed if is_overwritten(versions)}

    def save(self, tensor: torch.Tensor) -> torch.Tensor:
        for key, size in self._storages([tensor]).items():
            self._saved[key] = size
            self._saved_in.setdefault(key, []).append(tuple(self._running))
        return tensor

    def total(self) -> int:
        return sum(self._saved.values())

    def freed_by(self, name: str) -> int:
        inside = {
            key for key, places in self._saved_in.items() if all(name in place for place in places)
        }
        outside = self._saved.keys() - inside
        kept = sum(size for key, size in self.inputs[name].items() if key not in outside)
        return sum(self._saved[key] for key in inside) - kept

    def _storages(self, tensors: list[torch.Tensor]) -> dict[int, int]:
        storages = [tensor.untyped_storage() for tensor in tensors if not tensor.is_sparse]
        return {s.data_ptr(): s.nbytes() for s in storages if s.data_ptr() not in self._ignored}

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return self._clock()


def _record_forward(step: Step, batch: Any, clock: Clock) -> _ForwardRecorder:
    model = step.model
    own = [*model.parameters(), *model.buffers(), *tensors_of(batch)]
    recorder = _ForwardRecorder(step.device, clock, {t.untyped_storage().data_ptr() for t in own})
    hooks = []
    for name, module in model.named_modules():
        if name:
            hooks += [
                module.register_forward_pre_hook(
                    lambda module, given, keywords, name=name: recorder.enter(
                        name, module, (given, keywords)
                    ),
                    with_kwargs=True,
                ),
                module.register_forward_hook(lambda *_: recorder.leave(), always_call=True),
            ]
    try:
        with torch.autograd.graph.saved_tensors_hooks(recorder.save, lambda tensor: tensor):
            recorder._alive.append(step.loss_of(batch))
        recorder.finish()
    finally:
        for hook in hooks:
            hook.remove()
    return recorder
