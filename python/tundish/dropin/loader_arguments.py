"""Checks a DataLoader for arguments and overrides that only Python code can carry out."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

from .reasons import not_translated
from .replaced_functions import check_functions
from .timm_loaders import is_fast_collate, is_mixing_collate
from .where_defined import where_defined

_SEED = (
    "timm.data.loader._worker_init",
    "lightning.fabric.utilities.seed.pl_worker_init_function",
    "lightning_fabric.utilities.seed.pl_worker_init_function",
    "tundish.tuning.seeds.WorkerSeeds",
)

# Methods that decide which batches a DataLoader yields.
_ITERATION = ("__iter__", "_get_iterator", "_index_sampler")


def check_arguments(dataloader: Any) -> None:
    """Raises NotTranslated for an argument that the engine does not support.

    Ignores arguments that only concern processes: num_workers, persistent_workers, prefetch_factor,
    multiprocessing_context, timeout, in_order.
    """
    from torch.utils.data import DataLoader, IterableDataset, default_collate

    check_functions()
    for name in _ITERATION:
        own = vars(dataloader).get(name, getattr(type(dataloader), name))
        if own is not getattr(DataLoader, name):
            raise not_translated(
                f"{type(dataloader).__name__} overrides {name}",
                "pass the DataLoader that it was made from",
                where_defined(getattr(own, "fget", own)),
            )
    if isinstance(dataloader.dataset, IterableDataset):
        raise not_translated(
            "an IterableDataset defines its own order of samples",
            "use a dataset with __getitem__ and __len__",
            where_defined(dataloader.dataset),
        )
    if dataloader.batch_sampler is None:
        raise not_translated(
            "batch_size=None: the dataset makes its own batches", "pass a batch_size"
        )
    if is_mixing_collate(dataloader.collate_fn):
        raise not_translated(
            "timm's FastCollateMixup mixes the images of a batch in collate_fn",
            "leave it out and call timm.data.Mixup on the batch in the loop, as timm's train.py --no-prefetcher does; "
            "MixUp and CutMix are transforms of tundish",
        )
    if dataloader.collate_fn is not default_collate and not is_fast_collate(dataloader.collate_fn):
        raise not_translated(
            "collate_fn is Python",
            "leave it out and change the batch in the loop; MixUp and CutMix are transforms of tundish",
            where_defined(dataloader.collate_fn),
        )
    if dataloader.num_workers > 0 and not _only_seeds(dataloader.worker_init_fn):
        raise not_translated(
            "worker_init_fn may change the dataset in its processes",
            "leave it out if it only seeds; torch and the engine seed their workers",
            where_defined(dataloader.worker_init_fn),
        )


def _only_seeds(function: Any) -> bool:
    """Returns whether a worker_init_fn is None, or a function of a framework or of tundish that only seeds."""
    while isinstance(function, functools.partial):
        if any(callable(value) for value in (*function.args, *function.keywords.values())):
            return False  # such as timm's worker_seeding=, which may be a function
        function = function.func
    if function is None:
        return True
    kind = type(function)
    found = function if inspect.isfunction(function) else kind
    module, name = found.__module__, found.__name__
    known = getattr(sys.modules.get(module), name, None) is found
    home = getattr(function, "__globals__", {}).get("__name__", module)
    return known and home == module and f"{module}.{name}" in _SEED
