"""Loaders whose ranks do not divide the samples, because of another seed or other data, are reported."""

import collections
import warnings

import pytest
import torch
import tundish
from tundish.data import rank_orders

from tests.helpers.loaders import SQUARE

DIFFERENT = "the ranks do not divide the samples: rank 1 loads .*; rank 0 loads "


@pytest.fixture
def of_rank(monkeypatch):
    """Makes loaders of two ranks that are both in this process."""
    store = torch.distributed.HashStore()
    group = torch.distributed
    monkeypatch.setattr(group.distributed_c10d, "_get_default_store", lambda: store)
    monkeypatch.setattr(rank_orders, "_made", collections.Counter())
    monkeypatch.setattr(rank_orders, "torch_rank", lambda: None)  # one process has one rank
    monkeypatch.setattr(group, "is_initialized", lambda: True)
    monkeypatch.setattr(group, "get_world_size", lambda: 2)

    def make(rank, path, **options):
        monkeypatch.setattr(group, "get_rank", lambda: rank)
        return tundish.Loader(path, 4, **{"transforms": SQUARE, "shuffle": True, **options})

    return make


def quietly(loader):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return list(loader)


@pytest.mark.parametrize("difference", ["seed", "order", "data"])
def test_ranks_that_do_not_divide_the_samples_are_reported_once(
    of_rank, photos, make, tmp_path, difference
):
    path, options = photos.pack, {"seed": 1} if difference == "seed" else {}
    if difference == "order":
        options = {"order": tundish.Subset([1, 2])}
    if difference == "data":
        make.write(tmp_path / "in/x/0.png", make.png(0, 9, 9))
        path = make.pack(tmp_path / "in", tmp_path / photos.pack.name)
    first, second = of_rank(0, photos.pack), of_rank(1, path, **options)
    quietly(first)  # before the other rank has begun
    with pytest.warns(RuntimeWarning, match=DIFFERENT) as caught:
        list(second)
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="rank 0 loads 23 samples, shuffled, seed 0, uneven="):
        list(first)
    quietly(first)
    quietly(second)


def test_ranks_that_divide_the_samples_are_quiet(of_rank, photos):
    first, second = of_rank(0, photos.pack), of_rank(1, photos.pack, threads=1)
    for _ in range(2):
        assert len(quietly(first) + quietly(second)) == 6
    by_hand = tundish.Loader(photos.pack, 4, seed=1, transforms=SQUARE, rank=1, world_size=2)
    assert len(quietly(by_hand)) == 3


def test_a_loader_made_before_the_process_group_is_reported(monkeypatch, photos):
    early, by_hand = (
        tundish.Loader(photos.pack, 4, transforms=SQUARE, **options)
        for options in ({}, {"rank": 0, "world_size": 1})
    )
    quietly(early)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    with pytest.warns(RuntimeWarning, match="it is rank 0 of 1, and this process is rank 1 of 2"):
        list(early)
    quietly(by_hand)
