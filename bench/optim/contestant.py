"""What a contestant is: an optimizer over parameters of its own, and how gradients reach it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .jobs import Job


class LeftOut(Exception):
    """This contestant cannot run here; the text is the reason."""


@dataclass
class Contestant:
    parameters: Sequence[Any]
    step: Callable[[], Any]  # everything that the job asks for
    averages: Callable[[], list[Any]] = list  # of the weights, where the job has them
    clear: Callable[[], Any] | None = None  # before gradients are assigned
    # Flat parameters only: what the end of a backward pass does. With fresh gradients it copies them, and
    # is timed; with gradients that are in the buffer already it only looks.
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
    """One contestant of a file: its name, the jobs it has, and how it is made.

    make(job, parameters, graph): `graph` says that the step will be captured in a CUDA graph.
    """

    name: str
    jobs: tuple[str, ...]
    make: Callable[[Job, list[Any], bool], Contestant]
    no_graph: dict[str, str] = field(default_factory=dict)  # jobs that cannot be captured, and why
    # Jobs whose step leaves other gradients behind: a replay cannot be compared, it starts from those.
    writes_gradients: tuple[str, ...] = ()


def parameters_of(weights: Sequence[Any]) -> list[Any]:
    return [torch.nn.Parameter(weight.clone()) for weight in weights]


def make_scaler(scaler: type[Any], device: str) -> Any:
    """A GradScaler of scale 1 that never grows: gradients that are used again stay what they are."""
    made = scaler(device, init_scale=1.0, growth_interval=10**9)
    made.scale(torch.zeros((), device=device))  # makes the tensor of the scale
    return made
