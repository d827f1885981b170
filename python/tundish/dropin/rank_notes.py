"""Which samples a rank of a distributed run gets."""

from __future__ import annotations

from typing import Any


def notes_about_ranks(theirs: Any) -> list[str]:
    """Returns notes for the report of a DataLoader in a run of several ranks, where its samples may not be shared out."""
    import torch
    from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, IterableDataset

    world = torch.distributed
    if not (world.is_available() and world.is_initialized()) or world.get_world_size() == 1:
        return []
    ranks = world.get_world_size()
    if type(theirs).__iter__ is not DataLoader.__iter__:
        return [_decided_by(theirs, ranks)]  # such as the one that Accelerate's prepare() returns
    if isinstance(theirs.dataset, IterableDataset):
        return [_decided_by(theirs.dataset, ranks)]
    batches = theirs.batch_sampler
    if batches is not None and type(batches) is not BatchSampler:
        return [_decided_by(batches, ranks)]
    sampler = theirs.sampler if batches is None else batches.sampler
    if isinstance(sampler, DistributedSampler):
        return []
    if not type(sampler).__module__.startswith("torch.utils.data."):
        return [_decided_by(sampler, ranks)]
    return [
        f"each of the {ranks} ranks gets every sample: frameworks put a DistributedSampler only into "
        "torch's own DataLoaders; give sampler=DistributedSampler(dataset) to share them out"
    ]


def _decided_by(owner: Any, ranks: int) -> str:
    return f"{type(owner).__name__} decides which samples each of the {ranks} ranks gets"
