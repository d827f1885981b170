"""The report's description of the samples of a rank."""

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, Sampler

from tests.helpers.torch_sets import OwnSet

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
