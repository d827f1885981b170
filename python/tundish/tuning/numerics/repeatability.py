"""Checks whether a training step is deterministic: compares two runs with the same seed bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import torch

from ..batch_structure import tensors_of
from ..job import Job, set_seeds, step_and_batch
from ..preserved_state import unchanged
from ..step import Step

# What and name, as in Difference, and the tensor.
Seen = tuple[str, str, torch.Tensor]


@dataclass(frozen=True)
class Difference:
    """The first tensor that differs between two runs with the same seed."""

    what: str  # "output", "loss" or "gradient"
    name: str  # name of the module or parameter; empty for the loss
    run: int  # number of the run that differs from run 0
    largest: float  # largest absolute difference; NaN if shapes differ, or one side has a NaN or no tensor

    def __str__(self) -> str:
        name = f" of {self.name}" if self.name else ""
        return f"{self.what}{name} differs in run {self.run} by {self.largest:.3g}"


def find_difference(
    job: Job | Step, batch: Any = None, *, seed: int = 0, runs: int = 2
) -> Difference | None:
    """Checks whether a training step is deterministic: returns the first difference between runs.

    Runs the forward and backward pass `runs` times with the same seed. Returns None if all bits are
    equal. Compares the outputs of modules, then the loss, then the gradients from the last layer to
    the first. The model, its gradients and all random generators stay unchanged.

    job    a Job, or a Step with the batch as second argument
    batch  batch to run; default: the first batch of the Job
    seed   seed of each run
    runs   number of runs
    """
    step, batch = step_and_batch(job, batch)
    first: list[Seen] = []
    for run in range(runs):
        with unchanged(step.model):
            set_seeds(seed)
            found = list(_tensors_of_run(step, batch))
        first = first or found
        if (difference := _first_difference(first, found, run)) is not None:
            return difference
    return None


def _first_difference(first: list[Seen], other: list[Seen], run: int) -> Difference | None:
    for one, seen in zip_longest(first, other):
        what, name, tensor = seen or one
        if one is None or seen is None or one[:2] != seen[:2]:
            return Difference(what, name, run, float("nan"))
        if not same_bits(one[2], tensor):
            return Difference(what, name, run, _largest(one[2], tensor))
    return None


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether all bits are equal. A NaN equals a NaN with the same bits; 0.0 and -0.0 differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(torch.equal(_bits(a), _bits(b)))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().flatten().view(torch.uint8)


def _largest(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.shape != b.shape or a.numel() == 0:
        return float("nan")
    wide = torch.complex128 if a.is_complex() else torch.float64
    return float((a.to(wide) - b.to(wide)).abs().max())


def _tensors_of_run(step: Step, batch: Any) -> Iterator[Seen]:
    """Yields copies on the CPU, so that the GPU holds no more memory than a step needs."""
    outputs: list[Seen] = []
    handles = [
        module.register_forward_hook(_recorder(outputs, name))
        for name, module in step.model.named_modules()
    ]
    try:
        loss = step.loss_of(step.as_channels_last(batch))
    finally:
        for handle in handles:
            handle.remove()
    loss.backward()
    yield from outputs
    yield "loss", "", _copy(loss)
    for name, parameter in reversed(list(step.model.named_parameters())):
        if parameter.grad is not None:
            yield "gradient", name, _copy(parameter.grad)


def _recorder(outputs: list[Seen], name: str) -> Callable[..., None]:
    def record(_: Any, __: Any, output: Any) -> None:
        outputs.extend(("output", name, _copy(tensor)) for tensor in tensors_of(output))

    return record


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach()
    tensor = tensor.to_dense() if tensor.is_sparse else tensor
    return tensor.to("cpu", copy=True)
