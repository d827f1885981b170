"""Determines the rank of this process in a distributed run."""

from __future__ import annotations

import os
import sys


def rank_and_world() -> tuple[int, int]:
    """Returns rank and world size from torch.distributed, torchrun or Slurm, in this order; otherwise (0, 1).

    Ignores environment variables that are not numbers. data/settings/world.py refuses contradictions.
    """
    found = torch_rank()
    if found is not None:
        return found
    if "RANK" not in os.environ and "SLURM_STEP_NUM_TASKS" in os.environ:  # set by srun
        return _number("SLURM_PROCID", 0), _number("SLURM_STEP_NUM_TASKS", 1)
    return _number("RANK", 0), _number("WORLD_SIZE", 1)


def torch_rank() -> tuple[int, int] | None:
    """Returns rank and world size from torch.distributed, or None if it is not initialized."""
    torch = sys.modules.get("torch")  # None if the program has not imported torch
    group = getattr(torch, "distributed", None)
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    return int(group.get_rank()), int(group.get_world_size())


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else default
