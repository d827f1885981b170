"""Determines the rank of this process from torch.distributed, torchrun or Slurm."""

from __future__ import annotations

import os
from typing import NoReturn

from ..._process.ranks import torch_rank
from . import argument_checks as checks


def _from_environment(rank: str, world_size: str) -> tuple[int, int] | None:
    values = [os.environ.get(name) for name in (rank, world_size)]
    if values == [None, None]:
        return None
    if None in values:
        found, missing = (rank, world_size) if values[1] is None else (world_size, rank)
        raise ValueError(
            f"{found} is set and {missing} is not: pass rank= and world_size= to the Loader"
        )
    try:
        return int(str(values[0])), int(str(values[1]))
    except ValueError:
        raise ValueError(
            f"the environment has {rank}={values[0]!r}, {world_size}={values[1]!r}, "
            "which are not numbers: pass rank= and world_size= to the Loader"
        ) from None


def _from_slurm() -> tuple[int, int] | None:
    # srun sets both variables. A batch script also sees SLURM_PROCID=0 and SLURM_NTASKS, but is a single process.
    if "SLURM_STEP_NUM_TASKS" not in os.environ:
        return None
    return _from_environment("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")


def rank_and_world_size(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Returns rank and world size from the arguments, torch.distributed, torchrun or Slurm; otherwise (0, 1).

    Raises ValueError that shows both values if two of these sources contradict each other.
    """
    if rank is not None or world_size is not None:
        if rank is None or world_size is None:
            raise ValueError("pass both rank and world_size, or neither")
        return checks.whole(rank, "rank"), checks.whole(world_size, "world_size")
    torch = torch_rank()
    # Lightning's own launcher sets only WORLD_SIZE, but torch.distributed knows both values.
    half = ("RANK" in os.environ) != ("WORLD_SIZE" in os.environ)
    torchrun = None if torch and half else _from_environment("RANK", "WORLD_SIZE")
    slurm = _from_slurm()
    if torch and torchrun and torch != torchrun:
        _refuse(_TORCH, torch, _TORCHRUN, torchrun)
    known = torch or torchrun
    if known and slurm and not _started_by(slurm, known):
        _refuse(_TORCH if torch else _TORCHRUN, known, _SLURM, slurm)
    return known or slurm or (0, 1)


_TORCH = "torch.distributed"
_TORCHRUN = "the environment (RANK, WORLD_SIZE)"
_SLURM = "Slurm (SLURM_PROCID, SLURM_STEP_NUM_TASKS)"


def _refuse(source: str, first: tuple[int, int], other: str, second: tuple[int, int]) -> NoReturn:
    raise ValueError(
        f"{source} has rank {first[0]} of {first[1]}, {other} has rank {second[0]} of {second[1]}: "
        "pass rank= and world_size= to the Loader"
    )


def _started_by(slurm: tuple[int, int], known: tuple[int, int]) -> bool:
    """Returns whether Slurm tasks may have started these ranks: through torchrun, or several ranks per task."""
    each, rest = divmod(known[1], slurm[1])
    return "TORCHELASTIC_RUN_ID" in os.environ or (rest == 0 and known[0] // each == slurm[0])


def cpus_of_rank(usable: int) -> int:
    """Returns how many of the usable CPUs belong to this rank.

    `tundish run` already sets the number of CPUs of each rank, so that number is not divided again.
    """
    value = os.environ.get("TUNDISH_CPUS_PER_RANK", "")
    if value.isdigit() and int(value) > 0:
        return max(1, min(usable, int(value)))
    return max(1, usable // local_world_size())


def local_world_size() -> int:
    """Returns the number of processes of this run on this machine. They share its CPUs."""
    for name in ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return 1
