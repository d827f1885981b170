"""Seeds every random generator in one call and, on request, makes torch deterministic."""

from __future__ import annotations

import hashlib
import os
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import torch

from .._c.errors import ArgumentError
from .._process.random_state import RandomState
from .._process.ranks import rank_and_world, torch_rank

LARGEST_SEED = 2**32 - 1  # limit of NumPy and PYTHONHASHSEED
_WORKSPACES = (":4096:8", ":16:8")  # settings that make cuBLAS deterministic


@dataclass(frozen=True)
class WorkerSeeds:
    """`worker_init_fn` for torch's DataLoader that seeds every worker of every rank and epoch differently.

    torch seeds each worker with the epoch's seed plus the worker's number, so the workers of two ranks
    have equal seeds. Before torch 1.9, all workers also shared the state of NumPy's generator.
    """

    # None: of the process that starts the workers. It may join its process group after seed_everything.
    rank: int | None = None

    def __call__(self, worker: int) -> None:
        rank = rank_and_world()[0] if self.rank is None else self.rank
        seed_text = f"{torch.initial_seed()} {rank}".encode()
        digest = hashlib.blake2b(seed_text, digest_size=16).digest()
        random.seed(digest)
        torch.manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        numpy = _numpy()
        if numpy is not None:
            numpy.random.seed([int.from_bytes(digest[i : i + 4], "little") for i in (0, 4, 8, 12)])

    def __reduce__(self) -> tuple[Any, ...]:
        """Adds the rank: a spawned worker knows the variables of its parent, not its process group."""
        group = torch_rank() if self.rank is None else (self.rank, 0)
        return WorkerSeeds, (None if group is None else group[0],)


@dataclass
class Seeds:
    """The result of `tundish.seed_everything`: arguments for torch's DataLoader, and `undo`."""

    seed: int  # the seed
    deterministic: bool | str  # True, False or "warn"
    generator: Any  # pass it to DataLoader: seeds shuffling and the workers
    worker_init_fn: Callable[[int], None]  # pass it to DataLoader: seeds each worker
    _before: RandomState = field(repr=False)
    _flags: dict[str, Any] = field(repr=False)
    _environment: dict[str, str | None] = field(repr=False)

    def undo(self, generators: bool = False) -> None:
        """Restores torch's flags and the environment variables.

        With `generators=True`, restores the states of the random generators too.
        """
        _set_flags(self._flags)
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if generators:
            self._before.restore()


def seed_everything(seed: int, deterministic: bool | str = False) -> Seeds:
    """Seeds Python, NumPy, torch (CPU and all GPUs) and the string hashes of child processes.

    seed           an integer from 0 to 2**32 - 1
    deterministic  True makes torch use deterministic algorithms and raise an error for operations
                   that have none; "warn" warns instead of raising. TF32 stays on, because it is
                   deterministic
    """
    seed = _checked_seed(seed)
    _check_mode(deterministic)
    environment = {"PYTHONHASHSEED": str(seed)}
    if deterministic:
        environment.update(_cublas_workspace(deterministic))
    seeds = Seeds(
        seed,
        deterministic,
        torch.Generator().manual_seed(seed),
        WorkerSeeds(),
        RandomState(),
        _flags(),
        {name: os.environ.get(name) for name in environment},
    )
    os.environ.update(environment)
    random.seed(seed)
    numpy = _numpy()
    if numpy is not None:
        numpy.random.seed(seed)
    torch.manual_seed(seed)  # also seeds the generators of all GPUs
    if deterministic:
        _set_flags(
            {
                "algorithms": (True, deterministic == "warn"),
                "cudnn_deterministic": True,
                "cudnn_benchmark": False,
            }
        )
    return seeds


def _checked_seed(seed: Any) -> int:
    """Returns the seed as an int. Accepts NumPy integers too."""
    is_whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not is_whole or not 0 <= seed <= LARGEST_SEED:
        raise ArgumentError(
            f"seed_everything: the seed is {seed!r}\n  fix: pass an integer from 0 to {LARGEST_SEED}"
        )
    return int(seed)


def _check_mode(deterministic: bool | str) -> None:
    if not (isinstance(deterministic, bool) or deterministic == "warn"):
        raise ArgumentError(
            f"seed_everything: deterministic is {deterministic!r}\n"
            '  fix: pass True, False or "warn"'
        )


def _cublas_workspace(deterministic: bool | str) -> dict[str, str]:
    """Returns the environment variable for deterministic cuBLAS.

    cuBLAS reads the variable once, before its first matrix product.
    """
    if os.environ.get("CUBLAS_WORKSPACE_CONFIG") in _WORKSPACES:
        return {}
    if torch.cuda.is_initialized():
        text = (
            "seed_everything: CUDA is already in use, so cuBLAS may have chosen workspaces with which "
            "matrix products differ between runs\n"
            "  fix: call seed_everything before the first use of CUDA, or start Python with "
            f"CUBLAS_WORKSPACE_CONFIG={_WORKSPACES[0]}"
        )
        if deterministic != "warn":
            raise ArgumentError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return {"CUBLAS_WORKSPACE_CONFIG": _WORKSPACES[0]}


def _flags() -> dict[str, Any]:
    return {
        "algorithms": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
    }


def _set_flags(flags: dict[str, Any]) -> None:
    enabled, warn_only = flags["algorithms"]
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
    torch.backends.cudnn.deterministic = flags["cudnn_deterministic"]
    torch.backends.cudnn.benchmark = flags["cudnn_benchmark"]


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy
