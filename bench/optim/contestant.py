"""A contestant: an optimizer with separate parameters, and the way it receives gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .jobs import Job


class LeftOut(Exception):
    """Raised if this contestant cannot run here; the text is the reason."""


@dataclass
class Contestant:
    parameters: Sequence[Any]
    step: Callable[[], Any]  # all work of the job
    averages: Callable[[], list[Any]] = list  # averages of the weights, if the job has them
    clear: Callable[[], Any] | None = None  # before gradients are assigned
    # Flat parameters only: the work at the end of a backward pass. Copies fresh gradients, and is
    # timed then; with gradients already in the buffer, it only checks.
    gather: Callable[[], Any] | None = None

    def assign(self, gradients: Sequence[Any]) -> None:
        if self.clear is not None:
            self.clear()
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient

    def outputs(self) -> list[Any]:
        return [*(parameter.detach() for parameter in self.parameters), *self.averages()]


@dataclass(frozen=True)
class Entry:
    """One contestant of a file: its name, its jobs, and its factory.

    make(job, parameters, graph): `graph` is true if the step will be captured in a CUDA graph.
    """

    name: str
    jobs: tuple[str, ...]
    make: Callable[[Job, list[Any], bool], Contestant]
    no_graph: dict[str, str] = field(default_factory=dict)  # jobs that cannot be captured, and why
    # Jobs whose step modifies gradients: a replay would start from the modified ones.
    writes_gradients: tuple[str, ...] = ()


def parameters_of(weights: Sequence[Any]) -> list[Any]:
    return [torch.nn.Parameter(weight.clone()) for weight in weights]


def make_scaler(scaler: type[Any], device: str) -> Any:
    """Returns a GradScaler of scale 1 that never grows, so that reused gradients do not change."""
    made = scaler(device, init_scale=1.0, growth_interval=10**9)
    made.scale(torch.zeros((), device=device))  # creates the tensor of the scale
    return made
