"""How far two tensors are apart, in units of the last place."""

from __future__ import annotations

import torch


def ulps(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest difference, in units of fp32's last place at each number; at the root mean square
    for numbers that are smaller than that, where sums have canceled."""
    differences = ulps_of_each(ours, theirs)
    return float(differences.max()) if differences.numel() else 0.0


def ulps_of_each(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    a, b = ours.detach().double(), theirs.detach().double()
    assert a.shape == b.shape
    size = torch.maximum(b.abs(), b.square().mean().sqrt())
    unit = torch.exp2(torch.floor(torch.log2(size.clamp(min=1e-30))) - 23)
    return (a - b).abs() / unit
