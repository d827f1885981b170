"""Compares the orders of the ranks of a shuffled DistributedSampler.

A rank alone may keep torch's order: its machine has a full temporary folder, or cannot read the first image.
"""

from __future__ import annotations

from typing import Any

from ..data.rank_orders import RankOrders, group_store

TORCHS = "torch's order"
_WAIT_S = (
    5.0  # for the other ranks, before the first epoch; a later rank is compared before the next one
)


class SamplerOrders:
    """Raises an error if the ranks have different orders. No rank waits forever."""

    def __init__(self, orders: RankOrders) -> None:
        self._orders = orders
        self._wait_s = _WAIT_S

    def check(self, order: str) -> None:
        wait_s, self._wait_s = self._wait_s, 0.0
        found = self._orders.other(order, wait_s)
        if found is not None:
            raise RuntimeError(
                f"the ranks do not divide the samples: rank {self._orders.rank} has {order}, rank {found[0]} has "
                f"{found[1]}\n"
                "  why: loader.report of each rank says why it keeps torch's order\n"
                "  fix: give all ranks the same files and the same seed, or pass "
                'order_from="sampler" to tundish.accelerate on all ranks'
            )


def sampler_orders_of(dataloader: Any) -> SamplerOrders | None:
    """Returns None if no other rank draws from the same order."""
    from torch.utils.data import DistributedSampler

    batches = dataloader.batch_sampler
    sampler: Any = dataloader.sampler if batches is None else getattr(batches, "sampler", None)
    if type(sampler) is not DistributedSampler or not sampler.shuffle or sampler.num_replicas == 1:
        return None
    store = group_store()
    if store is None:
        return None
    return SamplerOrders(RankOrders(store, "accelerate", sampler.rank, sampler.num_replicas))
