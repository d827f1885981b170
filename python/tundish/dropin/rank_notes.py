"""Notes about which samples each rank of a distributed run gets."""

from __future__ import annotations

from typing import Any


def notes_about_ranks(dataloader: Any) -> list[str]:
    """Returns notes for the report if the samples may not be divided among the ranks."""
    import torch
    from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, IterableDataset

    world = torch.distributed
    if not (world.is_available() and world.is_initialized()) or world.get_world_size() == 1:
        return []
    ranks = world.get_world_size()
    if type(dataloader).__iter__ is not DataLoader.__iter__:
        return [
            _decided_by(dataloader, ranks)
        ]  # for example, the loader that Hugging Face Accelerate's prepare() returns
    if isinstance(dataloader.dataset, IterableDataset):
        return [_decided_by(dataloader.dataset, ranks)]
    batches = dataloader.batch_sampler
    if batches is not None and type(batches) is not BatchSampler:
        return [_decided_by(batches, ranks)]
    sampler = dataloader.sampler if batches is None else batches.sampler
    if isinstance(sampler, DistributedSampler):
        return []
    if not type(sampler).__module__.startswith("torch.utils.data."):
        return [_decided_by(sampler, ranks)]
    return [
        f"each of the {ranks} ranks gets every sample: frameworks add a DistributedSampler only to torch's "
        "own DataLoaders; pass sampler=DistributedSampler(dataset) to divide the samples"
    ]


def _decided_by(owner: Any, ranks: int) -> str:
    return f"{type(owner).__name__} decides which samples each of the {ranks} ranks gets"
