"""torch.optim with fused=True: one kernel does the whole update."""

from __future__ import annotations

from typing import Any

from .contestant import Contestant, Entry
from .jobs import Job
from .torch_loop import optimizer_of

NAME = "torch, fused"


def make(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    return Contestant(parameters, optimizer_of(job, parameters, graph, fused=True).step)


CONTESTANTS = [Entry(NAME, ("sgd", "adamw"), make)]
