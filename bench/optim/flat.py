"""tundish.optim.flatten(): all parameters in one buffer, with torch's fused optimizer and with ours.

Optimizers that use the norm of each tensor (LARS, LAMB, NovoGrad, Muon) cannot use one buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tundish import optim

from . import ours
from .contestant import Contestant, Entry
from .jobs import Job
from .torch_loop import optimizer_of

NAME = "tundish, flat"
NAME_OF_TORCH = "torch, fused, flat"


def _contestant(job: Job, parameters: list[Any], kind: Callable[..., Any]) -> Contestant:
    model = torch.nn.ParameterList(parameters)
    flat = optim.flatten(model)
    optimizer = flat.optimizer(kind)
    step = ours.step_of(job, optimizer, parameters[0].device.type)

    def averages() -> list[Any]:
        """Returns the slices of the flat average, in the order of the parameters in the buffer."""
        if not job.ema_decay:
            return []
        (whole,) = flat.parameters()
        average, first = optimizer.state[whole]["ema"], whole.data_ptr()
        places = [(p.data_ptr() - first) // whole.element_size() for p in parameters]
        return [
            average[place : place + p.numel()].view_as(p)
            for place, p in zip(places, parameters, strict=True)
        ]

    return Contestant(parameters, step, averages, optimizer.zero_grad, flat.gather)


def make(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    kind, arguments = ours.class_of(job), ours.arguments_of(job, graph)
    return _contestant(job, parameters, lambda groups: kind(groups, **arguments))


def make_torch(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    return _contestant(job, parameters, lambda groups: optimizer_of(job, groups, graph, fused=True))


CONTESTANTS = [
    Entry(NAME, ("sgd", "adamw", "adamw_clip_ema", "lion"), make),
    Entry(NAME_OF_TORCH, ("sgd", "adamw"), make_torch),
]
