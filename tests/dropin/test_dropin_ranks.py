"""The samples of a rank: what the report says about them, and ranks with different orders."""

import collections
import tempfile

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, Sampler
from torchvision.datasets import CIFAR10
from tundish.data import rank_orders as data_rank_orders
from tundish.dropin import rank_orders

from tests.helpers import torch_sets
from tests.helpers.torch_sets import FIXED, OwnSet

EVERY = "each of the 2 ranks gets every sample"


@pytest.fixture
def two_ranks(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda *_: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda *_: 0)


class EverySecond(Sampler):
    def __iter__(self):
        return iter(range(0, 23, 2))

    def __len__(self):
        return 12


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(0, 23, 2))


def report_of(loader):
    return str(tundish.accelerate(loader).report)


@pytest.mark.parametrize("shuffle", [False, True])
def test_samplers_of_torch_give_every_rank_every_sample(two_ranks, shuffle):
    assert EVERY in report_of(DataLoader(OwnSet(), 4, shuffle=shuffle))


def test_a_distributed_sampler_divides_the_samples(two_ranks):
    report = report_of(DataLoader(OwnSet(), 4, sampler=DistributedSampler(OwnSet(), 2, 0)))
    assert "ranks" not in report


def test_a_custom_sampler_may_divide_the_samples(two_ranks):
    report = report_of(DataLoader(OwnSet(), 4, sampler=EverySecond()))
    assert "EverySecond decides which samples each of the 2 ranks gets" in report
    assert EVERY not in report


def test_an_iterable_dataset_may_divide_the_samples(two_ranks):
    report = report_of(DataLoader(Stream(), 4))
    assert "Stream decides which samples each of the 2 ranks gets" in report
    assert EVERY not in report


@pytest.mark.parametrize("dispatch", [False, True])
def test_a_loader_prepared_by_accelerate_divides_the_samples(two_ranks, dispatch):
    prepare = pytest.importorskip("accelerate.data_loader").prepare_data_loader
    options = {"num_processes": 2, "process_index": 0, "dispatch_batches": dispatch}
    prepared = prepare(DataLoader(OwnSet(), 4), **options, put_on_device=dispatch, device="cpu")
    report = report_of(prepared)
    name = "DataLoaderDispatcher" if dispatch else "DataLoaderShard"
    assert f"{name} decides which samples each of the 2 ranks gets" in report
    assert EVERY not in report


def test_one_process_needs_no_note():
    assert "ranks" not in report_of(DataLoader(OwnSet(), 4))


@pytest.fixture
def store(monkeypatch, two_ranks):
    """The store of two ranks that are both in this process."""
    made = torch.distributed.HashStore()
    monkeypatch.setattr(torch.distributed.distributed_c10d, "_get_default_store", lambda: made)
    monkeypatch.setattr(data_rank_orders, "_made", collections.Counter())
    monkeypatch.setattr(rank_orders, "_WAIT_S", 0.0)
    return made


def of_rank(rank, count=23, **options):
    numbers = torch_sets.in_memory(CIFAR10, FIXED, count)
    numbers.targets = list(range(count))
    sampler = DistributedSampler(numbers, 2, rank)
    return tundish.accelerate(DataLoader(numbers, 4, sampler=sampler), **options)


def labels_of(loader):
    return [label for _, labels in loader for label in labels.tolist()]


def test_ranks_with_one_order_divide_the_samples(store):
    first, second = of_rank(0), of_rank(1)
    for _ in range(2):
        assert len(labels_of(first) + labels_of(second)) == 24


@pytest.mark.parametrize("difference", ["kept", "seed", "samples"])
def test_ranks_with_different_orders_raise_an_error(store, monkeypatch, difference):
    first = of_rank(0)
    if difference == "kept":
        monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    other = {"seed": {"seed": 7}, "samples": {"count": 21}}.get(difference, {})
    second = of_rank(1, **other)
    assert second.report.native == (difference != "kept")
    labels_of(first)  # the other rank is late, and no rank waits forever
    with pytest.raises(RuntimeError, match="the ranks do not divide the samples: rank 1 has"):
        iter(second)
    with pytest.raises(RuntimeError, match=r"rank 0 has the engine's order of 23 samples, seed 0"):
        iter(first)


def test_ranks_with_torchs_order_need_no_agreement(store, monkeypatch):
    first = of_rank(0, order_from="sampler")
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    second = of_rank(1, order_from="sampler")
    assert [first.report.native, second.report.native] == [True, False]
    for _ in range(2):
        assert len(set(labels_of(first) + labels_of(second))) == 23
