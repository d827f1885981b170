"""What is changed after tundish.accelerate looked at it is an error, never other data in silence."""

import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler, WeightedRandomSampler
from torchvision import datasets
from torchvision.transforms import v2

from tests.helpers import torch_sets
from tests.helpers.torch_sets import FIXED, accelerated


def make(sampler=None):
    dataset = torch_sets.in_memory(datasets.CIFAR10, [v2.Resize(20), *FIXED[2:]], count=9)
    return accelerated(DataLoader(dataset, 3, sampler=sampler))


def other_transform(loader):
    loader.dataset.transform = v2.Compose([v2.Resize(16), *FIXED[2:]])


def other_size(loader):
    loader.dataset.transform.transforms[0].size = [16]


def unknown_transform(loader):
    loader.dataset.transform = lambda image: image


def other_labels(loader):
    loader.dataset.targets = [0] * 9


def more_labels(loader):
    loader.dataset.targets.append(3)


def other_images(loader):
    loader.dataset.data = 255 - loader.dataset.data


def target_transform(loader):
    loader.dataset.target_transform = lambda label: label


def other_batches(loader):
    loader.batch_sampler.batch_size = 2


CHANGES = [
    other_transform,
    other_size,
    unknown_transform,
    other_labels,
    more_labels,
    other_images,
    target_transform,
    other_batches,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_a_changed_data_set_is_an_error(change):
    loader = make()
    assert len(list(loader)) == 3
    change(loader)
    with pytest.raises(RuntimeError, match="again"):
        iter(loader)


def test_changed_weights_are_an_error():
    sampler = WeightedRandomSampler([1.0] * 9, 9)
    loader = make(sampler)
    assert len(list(loader)) == 3
    sampler.weights[2] = 0
    with pytest.raises(RuntimeError, match=r"sampler\.weights changed"):
        iter(loader)


def test_what_a_run_changes_is_no_error():
    sampler = DistributedSampler(range(9), 2, 0)
    loader = make(sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        torch.manual_seed(epoch)
        assert len(list(loader)) == 2
