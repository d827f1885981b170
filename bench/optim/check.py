"""Checks the weights before anything is timed: three steps must give the weights of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import reference, torch_loop
from .contestant import Contestant, Entry, parameters_of
from .jobs import Job


def run_steps(contestant: Contestant, steps: Sequence[Sequence[Any]]) -> list[Any]:
    """Runs the steps with copies of the gradients, because some optimizers write into gradients."""
    for gradients in steps:
        contestant.assign([gradient.clone() for gradient in gradients])
        if contestant.gather is not None:
            contestant.gather()
        contestant.step()
    return contestant.outputs()


def expected(job: Job, weights: Sequence[Any], steps: Sequence[Sequence[Any]]) -> list[Any]:
    """Returns the results of the formulas in fp64. For Muon, returns torch's: its formula uses bfloat16."""
    if job.kind != "muon":
        return reference.run(job, weights, steps)
    return run_steps(torch_loop.make(job, parameters_of(weights), False), steps)


@torch.no_grad()  # type: ignore[untyped-decorator]
def distance(found: Sequence[Any], right: Sequence[Any], weights: Sequence[Any]) -> float:
    """Returns the largest value of |found - right| / |right - start| over all tensors."""
    starts = [*weights, *weights][: len(right)]
    far = [
        (one - other).norm() / (other - start).norm()
        for one, other, start in zip(found, right, starts, strict=True)
    ]
    whole = torch.stack(far)
    return float(whole.max()) if bool(whole.isfinite().all()) else float("inf")


def compare(
    entry: Entry,
    job: Job,
    weights: Sequence[Any],
    steps: Sequence[Sequence[Any]],
    right: Sequence[Any],
) -> float:
    return distance(
        run_steps(entry.make(job, parameters_of(weights), False), steps), right, weights
    )
