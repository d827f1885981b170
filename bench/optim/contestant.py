"""A contestant: an optimizer with its own parameters, and how it gets its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .jobs import Job


class LeftOut(Exception):
    """Raised if a contestant cannot run on this machine. The message is the reason."""


@dataclass
class Contestant:
    parameters: Sequence[Any]
    step: Callable[[], Any]  # does all the work of the job
    averages: Callable[[], list[Any]] = list  # averages of the weights, if the job has them
    clear: Callable[[], Any] | None = None  # called before gradients are assigned
    # Only for flat parameters: the work at the end of a backward pass. It copies new gradients into
    # the buffer, which is timed. If the gradients are already in the buffer, it only checks them.
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
    """A contestant that a file defines: its name, its jobs, and a function that creates it.

    That function is make(job, parameters, graph). `graph` is true if the step will be captured in a
    CUDA graph.
    """

    name: str
    jobs: tuple[str, ...]
    make: Callable[[Job, list[Any], bool], Contestant]
    no_graph: dict[str, str] = field(default_factory=dict)  # jobs that cannot be captured, and why
    # Jobs whose step modifies gradients. A replay would start from the modified gradients.
    writes_gradients: tuple[str, ...] = ()


def parameters_of(weights: Sequence[Any]) -> list[Any]:
    return [torch.nn.Parameter(weight.clone()) for weight in weights]


def make_scaler(scaler: type[Any], device: str) -> Any:
    """Returns a GradScaler with the fixed scale 1, so that reused gradients do not change."""
    made = scaler(device, init_scale=1.0, growth_interval=10**9)
    made.scale(torch.zeros((), device=device))  # creates the tensor that holds the scale
    return made
