"""Resolves the settings that a loader needs to create its engine: rank, threads, memory, device, backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._c.library import lib
from .batch import pinned
from .gpu.device import device_of
from .settings import argument_checks as checks
from .settings import memory_budget
from .settings.loader_options import LoaderOptions
from .settings.world import cpus_of_rank, rank_and_world_size


@dataclass(frozen=True)
class Setup:
    options: LoaderOptions
    rank: int
    world_size: int
    backend: str  # "torch" or "numpy"
    from_tensor: Callable[[Any], Any]
    from_numpy: Callable[[Any], Any]
    hang_ms: int  # time until the warning about a hanging read, in ms; 0: never
    device: Any  # None: host memory
    threads: int  # the initial number if tunes_threads
    tunes_threads: bool
    prefetch: int  # the initial number if tunes_prefetch
    tunes_prefetch: bool
    memory: int  # bytes; 0: no limit
    pin: bool  # whether the engine page-locks its own memory
    pinned: pinned.PinnedBatches | None  # blocks of torch's page-locked memory for batches, or None


def resolve_setup(options: LoaderOptions) -> Setup:
    rank, world_size = rank_and_world_size(options.rank, options.world_size)
    backend, from_tensor, from_numpy = checks.backend(options.backend)
    hang_ms = checks.milliseconds(options.hang_warning, "hang_warning")
    device = device_of(options.device, backend)
    threads, tunes_threads = _threads(options)
    prefetch = prefetch_of(options.prefetch)
    memory = memory_budget.budget_of(options)
    pin, batches = _pinning(options, backend, device)
    return Setup(
        options=options,
        rank=rank,
        world_size=world_size,
        backend=backend,
        from_tensor=from_tensor,
        from_numpy=from_numpy,
        hang_ms=hang_ms,
        device=device,
        threads=threads,
        tunes_threads=tunes_threads,
        prefetch=prefetch,
        tunes_prefetch=tunes_threads and options.prefetch == "auto",
        memory=memory,
        pin=pin,
        pinned=batches,
    )


def _threads(options: LoaderOptions) -> tuple[int, bool]:
    """Returns the number of threads, and whether the engine may change it."""
    given = options.threads
    if isinstance(given, str) and given != "auto":
        raise ValueError(f'threads must be "auto", a number or None, not {given!r}')
    if given is None or isinstance(given, str):
        return cpus_of_rank(lib.tundish_usable_cpus()), given is not None
    return given, False


def prefetch_of(given: Any) -> int:
    """Returns the initial number of batches kept ready."""
    if given == "auto":
        return 4
    if isinstance(given, str):
        raise ValueError(f'prefetch must be "auto" or a number, not {given!r}')
    return checks.positive(given, "prefetch")


def _pinning(
    options: LoaderOptions, backend: str, device: Any
) -> tuple[bool, pinned.PinnedBatches | None]:
    """Returns whether the engine page-locks memory, and the blocks that torch page-locks instead, if any."""
    pin = bool(options.pin_memory) and device is None
    if pin and options.images_as == "list":
        raise ValueError('images_as="list" does not support pin_memory: leave out pin_memory')
    if pin and (reason := pinned.pinning_obstacle(backend)):
        warnings.warn(f"pin_memory is ignored: {reason}", stacklevel=4)
        pin = False
    if not pin or backend != "torch":
        return pin, None
    prefetch = prefetch_of(options.prefetch)
    return False, pinned.PinnedBatches(options.batch_size, prefetch, max(1, len(options.views)))
