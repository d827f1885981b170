"""Measures the distance between two Muon runs."""

from __future__ import annotations

from typing import Any

import torch


def distance(parameters: Any, targets: Any, starts: Any) -> float:
    """Returns the distance to the targets, relative to the way from the starts to the targets."""
    apart = sum(
        float((p.detach() - t).double().square().sum()) for p, t in zip(parameters, targets)
    )
    way = sum(float((t.double() - s).square().sum()) for t, s in zip(targets, starts))
    return float((apart / way) ** 0.5)


def momentum_of(optimizer: Any, parameters: Any) -> list[Any]:
    return [optimizer.state[p]["momentum_buffer"] for p in parameters]


def all_equal(ours: Any, theirs: Any) -> bool:
    return len(ours) == len(theirs) and all(torch.equal(a, b) for a, b in zip(ours, theirs))
