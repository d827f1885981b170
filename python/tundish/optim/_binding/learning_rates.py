"""Learning rates: numbers, or tensors that a scheduler or a CUDA graph reads and writes."""

from __future__ import annotations

from typing import Any

import torch

from ..._c.errors import ArgumentError


def is_on_gpu(rate: Any) -> bool:
    return isinstance(rate, torch.Tensor) and rate.is_cuda


def rate_of(group: dict[str, Any]) -> float:
    """The learning rate; of a tensor on a GPU nothing that the host may wait for: the GPU reads it."""
    rate = group["lr"]
    return 0.0 if is_on_gpu(rate) else float(rate)


def rate_address(group: dict[str, Any]) -> int | None:
    """Of a learning rate that the GPU reads, when the step runs there."""
    rate = group["lr"]
    if not is_on_gpu(rate):
        return None
    if rate.dtype != torch.float32 or rate.numel() != 1:
        raise ArgumentError(
            f"the learning rate is a tensor of {rate.numel()} {str(rate.dtype).removeprefix('torch.')}\n"
            "  fix: torch.tensor(0.1, device=...), one float32"
        )
    return int(rate.data_ptr())
