"""Learning rates: numbers, or tensors that schedulers and CUDA graphs read and write."""

from __future__ import annotations

from typing import Any

import torch

from ..._c.errors import ArgumentError


def is_on_gpu(rate: Any) -> bool:
    return isinstance(rate, torch.Tensor) and rate.is_cuda


def rate_of(group: dict[str, Any]) -> float:
    """Returns the learning rate, or 0 for a tensor on a GPU, which the GPU reads itself."""
    rate = group["lr"]
    return 0.0 if is_on_gpu(rate) else float(rate)


def rate_address(group: dict[str, Any]) -> int | None:
    """Returns the address of a learning rate that the GPU reads, or None."""
    rate = group["lr"]
    if not is_on_gpu(rate):
        return None
    if rate.dtype != torch.float32 or rate.numel() != 1:
        raise ArgumentError(
            f"the learning rate is a tensor of {rate.numel()} {str(rate.dtype).removeprefix('torch.')}\n"
            "  fix: use one float32: torch.tensor(0.1, device=...)"
        )
    return int(rate.data_ptr())
