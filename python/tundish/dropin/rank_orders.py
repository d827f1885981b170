"""Compares the orders of the ranks of a shuffled DistributedSampler, through the store of their process group.

Ranks divide an epoch only if all of them draw from one order. A rank alone may keep torch's order (its machine has a
full temporary folder, or cannot read the first image), or have another seed or other files. Then ranks would share
some samples, and no rank would get others.
"""

from __future__ import annotations

import collections
import time
from typing import Any

TORCHS = "torch's order"
_WAIT_S = 5.0  # for the other ranks, before the first epoch
_SLICE_S = 0.02

_made: collections.Counter[int] = collections.Counter()  # loaders of this process, by rank


class RankOrders:
    """Publishes the order of this rank, and compares it with those of the others. No rank waits for ever."""

    def __init__(self, store: Any, rank: int, ranks: int) -> None:
        _made[rank] += 1
        self._store, self._rank = store, rank
        self._keys = [f"tundish/orders/{_made[rank]}/{each}" for each in range(ranks)]
        self._deadline: float | None = None  # None: no epoch has begun
        self._agreed = False

    def check(self, order: str) -> None:
        """Raises RuntimeError if ranks have different orders, and one of them is not torch's.

        A rank that is late by more than _WAIT_S is compared before the next epoch.
        """
        found = None if self._agreed else self._exchange(order)
        if found is None:
            return
        self._agreed = True
        other = next((rank for rank, its in enumerate(found) if its != order), None)
        if other is not None:
            raise RuntimeError(
                f"the ranks do not divide the samples: rank {self._rank} has {order}, rank {other} has "
                f"{found[other]}\n"
                "  why: loader.report of each rank says why it keeps torch's order\n"
                "  fix: give all ranks the same files and the same seed, or pass "
                'order_from="sampler" to tundish.accelerate on all ranks'
            )

    def _exchange(self, order: str) -> list[str] | None:
        """Returns the order of each rank, or None if some are unknown."""
        if self._deadline is None:
            self._deadline = time.monotonic() + _WAIT_S
        try:
            self._store.set(self._keys[self._rank], order)
            while not self._store.check(self._keys):
                if time.monotonic() > self._deadline:
                    return None
                time.sleep(_SLICE_S)
            return [text.decode() for text in self._store.multi_get(self._keys)]
        except (RuntimeError, ValueError, NotImplementedError):  # a process group that ended
            return None


def rank_orders_of(dataloader: Any) -> RankOrders | None:
    """Returns None if no other rank draws from the same order."""
    import torch
    from torch.utils.data import DistributedSampler

    batches = dataloader.batch_sampler
    sampler: Any = dataloader.sampler if batches is None else getattr(batches, "sampler", None)
    if type(sampler) is not DistributedSampler or not sampler.shuffle or sampler.num_replicas == 1:
        return None
    world = torch.distributed
    if not (world.is_available() and world.is_initialized()):
        return None
    try:
        from torch.distributed.distributed_c10d import _get_default_store

        store = _get_default_store()
    except (ImportError, RuntimeError, ValueError):
        return None
    return RankOrders(store, sampler.rank, sampler.num_replicas)
