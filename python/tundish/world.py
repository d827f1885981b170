"""Which rank this process is: from torch.distributed, torchrun or Slurm."""

from __future__ import annotations

import os
import sys


def _from_environment(rank: str, world_size: str) -> tuple[int, int] | None:
    try:
        return int(os.environ[rank]), int(os.environ[world_size])
    except (KeyError, ValueError):
        return None


def _from_torch() -> tuple[int, int] | None:
    torch = sys.modules.get("torch")  # a program that uses it has imported it
    if torch is None or not torch.distributed.is_available():
        return None
    if not torch.distributed.is_initialized():
        return None
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def rank_and_world_size(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """What was given wins; then torch.distributed, torchrun, Slurm; else one process."""
    if rank is not None or world_size is not None:
        if rank is None or world_size is None:
            raise ValueError("give both rank and world_size, or neither")
        return rank, world_size
    torch = _from_torch()
    torchrun = _from_environment("RANK", "WORLD_SIZE")
    if torch and torchrun and torch != torchrun:
        raise ValueError(
            f"torch.distributed says rank {torch[0]} of {torch[1]}, the environment (RANK, WORLD_SIZE) "
            f"says rank {torchrun[0]} of {torchrun[1]}: give rank= and world_size= to the Loader"
        )
    slurm = _from_environment("SLURM_PROCID", "SLURM_NTASKS")
    return torch or torchrun or slurm or (0, 1)


def local_world_size() -> int:
    """Processes of this run on this machine, which share its CPUs."""
    for name in ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return 1
