"""Collects facts about a loader: kind, workers, length, prefetched batches."""

from __future__ import annotations

import contextlib
import sys
import time
from types import CodeType, FunctionType
from typing import Any

from ...._process.code_origin import is_user_file
from ..facts import LoaderFacts


def loader_kind(loader: Any) -> str:
    module = type(loader).__module__
    return "torch" if hasattr(loader, "num_workers") else module.partition(".")[0]


def prefetched(loader: Any) -> int:
    """Returns the number of batches that workers prefetch before the first step."""
    workers = getattr(loader, "num_workers", 0) or 0
    return int(workers * (getattr(loader, "prefetch_factor", None) or 0))


def loader_length(iterator: Any, loader: Any) -> int | None:
    for sized in (iterator, loader):
        with contextlib.suppress(Exception):
            return len(sized)
    return None


def loader_facts(loader: Any) -> LoaderFacts:
    """Returns the settings of a loader."""
    kind = loader_kind(loader)
    # Loaders of other kinds may open files when their dataset is accessed.
    dataset = dataset_name(loader) if kind == "torch" else None
    auto_threads = None
    if kind == "tundish":
        options = getattr(getattr(loader, "_setup", None), "options", None)
        auto_threads = getattr(options, "threads", None) == "auto"
    return LoaderFacts(
        kind=kind,
        class_name=type(loader).__name__,
        batch_size=batch_size(loader),
        num_workers=_number(loader, "num_workers"),
        prefetch_factor=_number(loader, "prefetch_factor"),
        pin_memory=_flag(loader, "pin_memory"),
        persistent_workers=_flag(loader, "persistent_workers"),
        batches=loader_length(None, loader),
        dataset=dataset,
        undivided=_is_undivided(loader) if kind == "torch" else None,
        auto_threads=auto_threads,
    )


def _is_undivided(loader: Any) -> bool:
    """Returns whether an IterableDataset of the user's does not divide its samples among workers.

    Datasets of libraries are expected to do so.
    """
    kind = type(getattr(loader, "dataset", None))
    if not issubclass(kind, sys.modules["torch"].utils.data.IterableDataset):
        return False
    code = getattr(getattr(kind, "__iter__", None), "__code__", None)
    if code is None or not is_user_file(code.co_filename):
        return False
    owners = [*kind.__mro__, sys.modules.get(kind.__module__)]
    values = [value for owner in owners if owner is not None for value in vars(owner).values()]
    codes = [value.__code__ for value in values if isinstance(value, FunctionType)]
    divides = loader.worker_init_fn is not None or any(map(_asks_for_worker, codes))
    return not divides


def _asks_for_worker(code: CodeType) -> bool:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return "get_worker_info" in code.co_names or any(map(_asks_for_worker, inner))


def batch_size(loader: Any) -> int | None:
    """Returns the batch size. Accelerate's loaders have it only in their batch sampler."""
    found = _number(loader, "batch_size")
    return found or _number(getattr(loader, "batch_sampler", None), "batch_size")


def _number(loader: Any, name: str) -> int | None:
    value = getattr(loader, name, None)
    return int(value) if isinstance(value, int) else None


def _flag(loader: Any, name: str) -> bool | None:
    value = getattr(loader, name, None)
    return bool(value) if isinstance(value, int) else None


def dataset_name(loader: Any) -> str:
    """Returns the module and class of the dataset."""
    kind = type(getattr(loader, "dataset", None))
    return f"{kind.__module__}.{kind.__qualname__}"


def wait_until_filled(iterator: Any, most_s: float = 3.0) -> None:
    """Waits until torch's workers have prefetched as many batches as they may.

    The workers are then idle during the steps with cached batches.
    """
    deadline = time.monotonic() + most_s
    results = getattr(iterator, "_worker_result_queue", None)
    pinned: Any = getattr(iterator, "_data_queue", None)
    if results is None:
        return
    with contextlib.suppress(Exception):
        while time.monotonic() < deadline:
            ready = results.qsize() + (pinned.qsize() if pinned is not results else 0)
            if ready >= iterator._tasks_outstanding:
                return
            time.sleep(0.01)
