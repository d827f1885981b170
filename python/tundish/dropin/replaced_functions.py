"""Finds functions of torch.utils.data that a script replaced. The engine would not call them."""

from __future__ import annotations

import inspect
from typing import Any

from ..transforms.unmodified import is_foreign, is_own_hook
from .reasons import not_translated
from .where_defined import where_defined


def is_replaced(function: Any) -> bool:
    """Returns whether a script replaced a library function. Wrappers by Tundish do not count; they only measure."""
    plain = getattr(function, "fget", function)
    return is_foreign(plain) and not is_own_hook(plain)


def check_functions() -> None:
    """Raises NotTranslated if a function that makes the batches of every DataLoader was replaced."""
    for kind, names in _functions():
        for name in names:
            found = inspect.getattr_static(kind, name, None)
            if found is not None and is_replaced(found):
                raise _replaced(f"{kind.__name__}.{name}", getattr(found, "fget", found))
    for key, function in _collate_functions().items():
        if is_replaced(function):
            name = getattr(key, "__name__", str(key))
            raise _replaced(f"default_collate_fn_map[{name}]", function)


def _functions() -> list[tuple[type, tuple[str, ...]]]:
    from torch.utils.data import BatchSampler, DataLoader, _utils, dataloader

    return [
        (DataLoader, ("__iter__", "_get_iterator", "_index_sampler", "_auto_collation")),
        (BatchSampler, ("__iter__",)),
        (dataloader._BaseDataLoaderIter, ("__next__",)),
        (dataloader._SingleProcessDataLoaderIter, ("_next_data",)),
        (dataloader._MultiProcessingDataLoaderIter, ("_next_data",)),
        (_utils.fetch._MapDatasetFetcher, ("fetch",)),
    ]


def _collate_functions() -> dict[Any, Any]:
    """Returns the functions that default_collate calls for images, labels and their containers."""
    import torch
    from torch.utils.data._utils.collate import default_collate_fn_map

    parts = (torch.Tensor, int, dict, list, tuple)
    return {
        key: function
        for key, function in default_collate_fn_map.items()
        if isinstance(key, type) and issubclass(key, parts)
    }


def _replaced(name: str, function: Any) -> Exception:
    return not_translated(
        f"{name} was replaced", "leave the functions of torch.utils.data", where_defined(function)
    )
