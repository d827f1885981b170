"""Changes to timm's loaders after tundish.accelerate raise an error."""

import pickle

import pytest
import timm
import torch
import tundish
from timm.data import create_transform
from timm.data.loader import fast_collate
from torch.utils.data import DataLoader, RandomSampler

from tests.helpers import torch_sets
from tests.helpers.timm_loaders import made, same
from tests.helpers.torch_sets import accelerated

pytestmark = [  # timm relies on Python's collector to close files
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("timm") / "photos", 14)


def other_mean(loader):
    loader.mean += 20


def other_std(loader):
    loader.std = loader.std * 2


def other_erasing(loader):
    loader.random_erasing = timm.data.random_erasing.RandomErasing(0.5, device="cpu")


def other_collate(loader):
    loader.loader.collate_fn = torch.utils.data.default_collate


def other_transform(loader):
    loader.dataset.transform = create_transform((3, 8, 8), use_prefetcher=True)


def edited_transform(loader):
    loader.dataset.transform.transforms[0].size = 40


def other_loader(loader):
    loader.loader = DataLoader(
        loader.dataset, 4, sampler=RandomSampler(loader.dataset), collate_fn=fast_collate
    )


def other_batches(loader):
    loader.batch_sampler.batch_size = 2


def other_type(loader):
    loader.img_dtype = torch.float16


CHANGES = [other_mean, other_std, other_erasing, other_collate, other_transform]
CHANGES += [edited_transform, other_loader, other_batches, other_type]


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_a_later_change_of_a_prefetch_loader_is_noticed(folder, change):
    theirs = made(folder, use_prefetcher=True)
    ours = accelerated(theirs)
    assert same(ours, theirs)
    change(theirs)
    with pytest.raises(RuntimeError, match=r"changed after tundish\.accelerate"):
        iter(ours)
    again = tundish.accelerate(ours)
    assert again.report.native == (change is not other_type)
    if change not in (other_erasing, other_loader):
        assert same(again, theirs)


def test_a_later_change_of_a_multi_epochs_loader_is_noticed(folder):
    theirs = made(folder, use_multi_epochs_loader=True)
    ours = accelerated(theirs)
    theirs.collate_fn = lambda samples: samples
    with pytest.raises(RuntimeError, match="changed after"):
        iter(ours)
    other = accelerated(made(folder))
    other.collate_fn = fast_collate
    with pytest.raises(RuntimeError, match="collate_fn changed after"):
        iter(other)


def double(samples):
    return [part * 2 for part in fast_collate(samples)]


def test_an_attribute_set_on_the_accelerated_loader_is_used(folder):
    theirs = made(folder, use_prefetcher=True)
    ours = accelerated(theirs)
    ours.collate_fn = double
    copy = pickle.loads(pickle.dumps(ours))
    assert not copy.report.native
    with pytest.raises(RuntimeError, match="collate_fn is Python"):
        iter(ours)
    again = tundish.accelerate(ours)
    assert not again.report.native
    theirs.loader.collate_fn = double
    assert same(again, theirs), "normalized as before"
    assert same(copy, theirs)
