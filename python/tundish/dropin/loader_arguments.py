"""Arguments of a DataLoader that only Python can carry out."""

from __future__ import annotations

import functools
from typing import Any

from .reasons import keep
from .where_defined import where_defined

_SEED = (
    "timm.data.loader._worker_init",
    "lightning.fabric.utilities.seed.pl_worker_init_function",
    "lightning_fabric.utilities.seed.pl_worker_init_function",
)

# What decides which batches a DataLoader gives.
_ITERATION = ("__iter__", "_get_iterator", "_index_sampler")


def check_arguments(theirs: Any) -> None:
    """Raises NotTranslated. Those that only concern processes have no meaning for threads: num_workers,
    persistent_workers, prefetch_factor, multiprocessing_context, timeout, in_order."""
    from torch.utils.data import DataLoader, IterableDataset, default_collate

    for name in _ITERATION:
        own = vars(theirs).get(name, getattr(type(theirs), name))
        if own is not getattr(DataLoader, name):
            raise keep(
                f"{type(theirs).__name__} iterates in a way of its own",
                "give the DataLoader that it was made from",
                where_defined(getattr(own, "fget", own)),
            )
    if isinstance(theirs.dataset, IterableDataset):
        raise keep(
            "an IterableDataset yields its samples in an order of its own",
            "a data set with __getitem__ and __len__",
            where_defined(theirs.dataset),
        )
    if theirs.batch_sampler is None:
        raise keep("batch_size=None: the data set makes its own batches", "give a batch_size")
    if theirs.collate_fn is not default_collate:
        raise keep(
            "collate_fn is Python",
            "leave it out and change the batch in the loop; MixUp and CutMix are transforms of tundish",
            where_defined(theirs.collate_fn),
        )
    if theirs.num_workers > 0 and not _only_seeds(theirs.worker_init_fn):
        raise keep(
            "worker_init_fn may change the data set in its processes",
            "leave it out if it only seeds: torch seeds its workers itself, and so does the engine",
            where_defined(theirs.worker_init_fn),
        )


def _only_seeds(function: Any) -> bool:
    """Whether a worker_init_fn is none, or one of a framework that only seeds its process."""
    while isinstance(function, functools.partial):
        function = function.func
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', '')}"
    return function is None or name in _SEED


def seed_of(theirs: Any, sampler: Any) -> int:
    """Fixed by torch.manual_seed() or by the generator; nothing is drawn for it."""
    import torch

    for generator in (getattr(sampler, "generator", None), theirs.generator):
        if generator is not None:
            return int(generator.initial_seed()) % 2**63
    return int(torch.initial_seed()) % 2**63
