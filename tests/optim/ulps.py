"""Measures the distance between two tensors in units in the last place (ulps)."""

from __future__ import annotations

import torch


def ulps(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """Returns the largest difference in fp32 ulps.

    Each number has its own unit. Numbers below the root mean square, where sums have canceled, have
    the unit of the root mean square.
    """
    differences = ulps_of_each(ours, theirs)
    return float(differences.max()) if differences.numel() else 0.0


def ulps_of_each(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    a, b = ours.detach().double(), theirs.detach().double()
    assert a.shape == b.shape
    size = torch.maximum(b.abs(), b.square().mean().sqrt())
    unit = torch.exp2(torch.floor(torch.log2(size.clamp(min=1e-30))) - 23)
    return (a - b).abs() / unit
