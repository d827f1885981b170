"""torch.utils.data.get_worker_info() in a worker thread.

torch keeps the answer in a global variable, since a worker is a process. Data sets import the function itself, so only its code
can be changed for all of them: it asks this module first. In all other threads and processes the answer is torch's.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

_here = threading.local()


@dataclass(frozen=True)
class WorkerSeed:
    """As torch gives them to a worker: `seed` is the base seed of the epoch + number."""

    number: int
    workers: int
    seed: int


def answer_per_thread() -> None:
    """Once for this process."""
    from torch.utils.data._utils import worker

    if not hasattr(worker, "_tundish_answer"):
        worker._tundish_answer = _answer
        worker.get_worker_info.__code__ = _get_worker_info.__code__


def _get_worker_info() -> Any:
    """Its code runs with the names of torch's module."""
    return _tundish_answer(_worker_info)  # type: ignore[name-defined]  # noqa: F821


def _answer(of_process: Any) -> Any:
    if (
        getattr(_here, "process", None) == os.getpid()
    ):  # a forked process has this thread's variables
        return _here.info
    return of_process


def answer_in_this_thread(seed: WorkerSeed, dataset: Any) -> None:
    from torch.utils.data._utils.worker import WorkerInfo

    about: dict[str, Any] = {"id": seed.number, "num_workers": seed.workers, "seed": seed.seed}
    names = {one.name for one in fields(WorkerInfo)} if is_dataclass(WorkerInfo) else set()
    if "rng" in names:  # torch 2.13 has it, not every earlier one
        about["rng"] = _generators(seed.seed)
    if "worker_method" in names:
        about["worker_method"] = "thread"
    _here.info, _here.process = WorkerInfo(dataset=dataset, **about), os.getpid()


def _generators(seed: int) -> Any:
    """Of this thread. random and torch: the numbers that a process would draw from its global generators."""
    import torch
    from torch.utils.data._utils.worker import _RNG

    numpy = sys.modules.get("numpy")
    return _RNG(
        random_generator=random.Random(seed),
        torch_generator=torch.Generator().manual_seed(seed),
        numpy_generator=numpy.random.default_rng(seed) if numpy else None,
    )
