"""Records the results of one training step by name: loss, outputs, gradients, buffers and weights.

Every recorded step starts from the same weights and buffers, so errors do not accumulate over steps. A step
that becomes a CUDA graph at its fourth call can therefore be compared from then on. Only the optimizer's
state continues from step to step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..batch_structure import map_tensors, samples_of, signature, slice_samples, tensors_of
from ..job import Job, set_seeds
from ..preserved_state import write_values
from ..step import Step

Observation = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Point:
    """The input of a recorded step: a batch, and the seed of the random numbers."""

    batch: Any
    seed: int


@dataclass(frozen=True)
class Start:
    """The weights and buffers that a step starts with, by name."""

    parameters: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]

    @staticmethod
    def of(model: torch.nn.Module) -> Start:
        return Start(
            {name: p.detach().clone() for name, p in model.named_parameters()},
            {name: b.detach().clone() for name, b in model.named_buffers()},
        )

    def restore(self, model: torch.nn.Module) -> None:
        """Copies the values in place, because a CUDA graph reads the same memory. Keeps types and layout."""
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(self.parameters[name])
            for name, buffer in model.named_buffers():
                if name in self.buffers:
                    write_values(buffer, self.buffers[name])


def points_of(job: Job, seed: int, samples: int) -> list[Point]:
    """Returns two points of equal shape, with different samples and random numbers.

    With two points, a step that wrongly reuses data of the previous step is detected.
    """
    first = job.batches[0]
    count = samples_of(first)
    if count >= 4:
        size = min(samples, count // 2)
        pair = [slice_samples(first, 0, size), slice_samples(first, size, 2 * size)]
    else:
        pair = [first, first]
    return [Point(batch, seed + i) for i, batch in enumerate(pair)]


def whole_points(job: Job, seed: int) -> list[Point]:
    """Returns points with whole batches, for batches that cannot be sliced."""
    first = job.batches[0]
    others = [b for b in job.batches[1:] if signature(b) == signature(first)]
    return [Point(first, seed), Point(others[0] if others else first, seed + 1)]


class OutputRecorder:
    """Records the outputs of the model's last forward pass."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._seen: dict[str, Any] = {}
        self._last: list[torch.Tensor] = []
        seen = self._seen

        def keep(module: Any, inputs: Any, output: Any) -> None:
            seen["output"] = output

        # With a CUDA graph this runs only during the capture. Each replay writes to the same tensor.
        self._handle = model.register_forward_hook(keep)

    def outputs(self) -> Iterator[tuple[str, torch.Tensor]]:
        # Remove each output, because a non-empty dictionary would recompile a compiled step.
        if "output" in self._seen:
            self._last = [tensor.detach() for tensor in tensors_of(self._seen.pop("output"))]
        for i, tensor in enumerate(self._last):
            yield ("output" if i == 0 else f"output {i}"), tensor

    def end(self) -> None:
        self._handle.remove()
        self._last = []


def observe(step: Step, recorder: OutputRecorder, start: Start, point: Point) -> Observation:
    """Runs one whole step with the point's batch and seed, and returns its results."""
    start.restore(step.model)
    set_seeds(point.seed)
    loss = step(point.batch)
    seen = gradients_seen(step, recorder, loss)
    for name, parameter in step.model.named_parameters():
        seen[f"weight {name}"] = parameter.detach().clone()
    return seen


def gradients_seen(step: Step, recorder: OutputRecorder, loss: torch.Tensor) -> Observation:
    """Returns all results of a step except the weights."""
    seen = {"loss": loss.detach().clone()}
    seen.update((name, tensor.clone()) for name, tensor in recorder.outputs())
    trained = {id(p) for group in step.optimizer.param_groups for p in group["params"]}
    for name, parameter in step.model.named_parameters():
        if (
            parameter.grad is not None and id(parameter) in trained
        ):  # gradients of other parameters are never zeroed
            seen[f"gradient of {name}"] = parameter.grad.detach().clone()
    for name, buffer in step.model.named_buffers():
        seen[f"buffer {name}"] = buffer.detach().clone()
    return seen


def observe_in_fp64(job: Job, start: Start, point: Point, accumulate: int) -> Observation:
    """Runs the forward and backward pass in fp64, as a reference almost free of rounding errors."""
    from .randomness import Fp32Draws

    step = Step(job.model, job.optimizer, job.loss_fn)
    step.accumulate = accumulate
    recorder = OutputRecorder(job.model)
    start.restore(job.model)
    set_seeds(point.seed)
    job.optimizer.zero_grad(set_to_none=True)
    try:
        with Fp32Draws():
            loss = step.add_gradients(to_fp64(point.batch), step.loss_of)
        return gradients_seen(step, recorder, loss)
    finally:
        recorder.end()


def to_fp64(batch: Any) -> Any:
    return map_tensors(lambda t: t.double() if t.is_floating_point() else t, batch)
