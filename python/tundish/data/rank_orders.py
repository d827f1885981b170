"""Compares the orders of the ranks of a process group, through its store.

Ranks divide an epoch only if all of them draw from one order. With another seed or other files, ranks share some
samples, and no rank gets others.
"""

from __future__ import annotations

import collections
import os
import sys
import time
import warnings
from typing import Any

from .._process.ranks import torch_rank
from .open_source import plain_paths
from .settings.loader_options import LoaderOptions
from .setup import Setup

_SLICE_S = 0.02

_made: collections.Counter[Any] = collections.Counter()  # of this process, by name and rank


class RankOrders:
    """Publishes the order of this rank and compares it with those of the other ranks.

    name  what the order is for; the n-th object of this name is compared with the n-th of the other ranks
    """

    def __init__(self, store: Any, name: str, rank: int, ranks: int) -> None:
        _made[name, rank] += 1
        number = _made[name, rank]
        self.rank = rank
        self._store = store
        self._keys = [f"tundish/orders/{name}/{number}/{each}" for each in range(ranks)]
        self._known = False  # whether all orders were compared

    def other(self, order: str, wait_s: float = 0.0) -> tuple[int, str] | None:
        """Returns the first rank with another order, and its order, once.

        Returns None if there is no such rank, or if a rank has not published its order within `wait_s`.
        """
        found = None if self._known else self._exchange(order, wait_s)
        if found is None:
            return None
        self._known = True
        return next(((rank, its) for rank, its in enumerate(found) if its != order), None)

    def _exchange(self, order: str, wait_s: float) -> list[str] | None:
        deadline = time.monotonic() + wait_s
        try:
            self._store.set(self._keys[self.rank], order)
            while not self._store.check(self._keys):
                if time.monotonic() >= deadline:
                    return None
                time.sleep(_SLICE_S)
            return [text.decode() for text in self._store.multi_get(self._keys)]
        except (RuntimeError, ValueError, NotImplementedError):  # a process group that has ended
            return None


def group_store() -> Any:
    """Returns the store of the default process group, or None."""
    torch = sys.modules.get("torch")
    group = getattr(torch, "distributed", None)
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    try:
        return group.distributed_c10d._get_default_store()
    except (AttributeError, RuntimeError, ValueError):
        return None


def orders_of_loader(path: Any, setup: Setup) -> RankOrders | None:
    """Returns None if the ranks are not those of a process group: `rank=` was given, or there is one rank."""
    store = group_store() if setup.options.rank is None and setup.world_size > 1 else None
    if store is None:
        return None
    options = setup.options
    paths = plain_paths(path)
    names = [os.path.basename(str(one)) for one in (paths if isinstance(paths, list) else [paths])]
    name = f"{names} {options.batch_size} {bool(options.shuffle)}"
    return RankOrders(store, name, setup.rank, setup.world_size)


def warn_about_late_group(options: LoaderOptions, rank: int, world_size: int) -> None:
    """Warns if the process group did not exist when the loader took its rank."""
    group = torch_rank() if options.rank is None else None
    if group is not None and group != (rank, world_size):
        warnings.warn(
            f"this loader was made before the process group: it is rank {rank} of {world_size}, and this process "
            f"is rank {group[0]} of {group[1]}\n"
            "  fix: make the Loader after init_process_group, or pass rank= and world_size=",
            RuntimeWarning,
            stacklevel=3,
        )


def warn_about_ranks(orders: RankOrders, count: int, data: str, state: dict[str, Any]) -> None:
    """Warns if this rank and another one do not divide the samples. `data`: fingerprint of the data."""
    uneven = state["run_config"].get("uneven")
    order = (
        f"{count:,} samples, {state['order']}, seed {state['seed']}, uneven={uneven!r}, data {data}"
    )
    found = orders.other(order)
    if found is not None:
        warnings.warn(
            f"the ranks do not divide the samples: rank {orders.rank} loads {order}; rank {found[0]} "
            f"loads {found[1]}\n  fix: give the Loaders of all ranks the same data, seed and order",
            RuntimeWarning,
            stacklevel=3,
        )
