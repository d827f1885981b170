"""torch.optim, updating one tensor after another. torch's Muon only has this variant."""

from __future__ import annotations

from typing import Any

import torch

from .contestant import Contestant, Entry, LeftOut
from .jobs import Job

NAME = "torch, loop"
CLASSES = {"sgd": "SGD", "adamw": "AdamW", "muon": "Muon"}


def optimizer_of(job: Job, parameters: Any, graph: bool, **variant: bool) -> Any:
    """Returns torch's optimizer. AdamW captured in a graph counts its steps on the GPU."""
    found = getattr(torch.optim, CLASSES[job.kind], None)
    if found is None:
        raise LeftOut(f"torch {torch.__version__} has no {CLASSES[job.kind]}")
    more = {"capturable": graph} if job.kind == "adamw" else {}
    return found(parameters, **job.arguments, **more, **variant)


def make(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    variant = {} if job.kind == "muon" else {"foreach": False, "fused": False}
    return Contestant(parameters, optimizer_of(job, parameters, graph, **variant).step)


CONTESTANTS = [Entry(NAME, ("sgd", "adamw", "muon"), make)]
