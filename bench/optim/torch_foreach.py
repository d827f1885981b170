"""torch.optim with foreach=True: each operation processes all tensors at once."""

from __future__ import annotations

from typing import Any

from .contestant import Contestant, Entry
from .jobs import Job
from .torch_loop import optimizer_of

NAME = "torch, foreach"


def make(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    return Contestant(parameters, optimizer_of(job, parameters, graph, foreach=True).step)


CONTESTANTS = [Entry(NAME, ("sgd", "adamw"), make)]
