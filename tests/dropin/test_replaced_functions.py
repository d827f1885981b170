"""Functions of torch and torchvision that a script replaces: their batches are torch's, or an error."""

import pytest
import torch
import tundish
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, Subset, _utils, dataloader
from torchvision.datasets import folder as folder_module

from tests.helpers import torch_sets
from tests.helpers.torch_sets import same_batches


def changed(original):
    """Wraps a function that returns a batch."""

    def call(*arguments):
        images, labels = original(*arguments)
        return [images * 0, labels + 1]

    return call


def every_batch(original):
    def iterate(loader):
        for images, labels in original(loader):
            yield [images * 0, labels + 1]

    return iterate


def reversed_order(_):
    return lambda sampler: iter(range(len(sampler) - 1, -1, -1))


def two_batches(_):
    return lambda sampler: iter([[1, 2], [3]])


def zeros(_):
    return lambda batch, *, collate_fn_map=None: torch.stack(batch) * 0


REPLACED = {
    "DataLoader.__iter__": (DataLoader, "__iter__", every_batch),
    "DataLoader._get_iterator": (DataLoader, "_get_iterator", every_batch),
    "DataLoader._index_sampler": (
        DataLoader,
        "_index_sampler",
        lambda _: property(lambda loader: iter([[1, 2]])),
    ),
    "SequentialSampler.__iter__": (SequentialSampler, "__iter__", reversed_order),
    "BatchSampler.__iter__": (BatchSampler, "__iter__", two_batches),
    "__next__": (dataloader._BaseDataLoaderIter, "__next__", changed),
    "_next_data": (dataloader._SingleProcessDataLoaderIter, "_next_data", changed),
    "fetch": (_utils.fetch._MapDatasetFetcher, "fetch", changed),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("replaced") / "photos", 9)


def check(ours, theirs):
    """Returns whether the batches are torch's, or an error names a change."""
    try:
        got = list(ours)
    except RuntimeError as error:
        return "changed after tundish.accelerate" in str(error)
    return same_batches(got, list(theirs))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("name", REPLACED)
def test_a_replaced_function_of_torch_is_noticed(root, monkeypatch, name, before):
    theirs = DataLoader(torch_sets.image_folder(root), 4)
    if not before:
        ours = tundish.accelerate(theirs)
        assert len(list(ours)) == 3
    kind, attribute, make = REPLACED[name]
    monkeypatch.setattr(kind, attribute, make(vars(kind)[attribute]))
    if before:
        ours = tundish.accelerate(theirs)
        assert not ours.report.native or "own indices" in str(ours.report)
    assert check(ours, theirs)


@pytest.mark.parametrize("before", [True, False])
def test_a_replaced_collate_function_is_noticed(root, monkeypatch, before):
    theirs = DataLoader(torch_sets.image_folder(root, torch_sets.RANDOM), 4)
    ours = None if before else tundish.accelerate(theirs)
    monkeypatch.setitem(_utils.collate.default_collate_fn_map, torch.Tensor, zeros(None))
    ours = ours or tundish.accelerate(theirs)
    assert check(ours, theirs)


def test_a_replaced_reader_of_images_is_noticed(root, monkeypatch):
    theirs = DataLoader(Subset(torch_sets.image_folder(root), range(5)), 4)
    ours = tundish.accelerate(theirs)
    original = folder_module.pil_loader
    monkeypatch.setattr(folder_module, "pil_loader", lambda path: original(path).transpose(0))
    assert check(ours, theirs)
