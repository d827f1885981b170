"""A loop over an accelerated DataLoader that ends early leaves random generators as in torch."""

import itertools

import pytest
import torch
from torch.utils.data import DataLoader, RandomSampler
from torchvision import datasets

from tests.helpers import torch_sets
from tests.helpers.torch_sets import GRAY, accelerated


@pytest.fixture(scope="module")
def numbered():
    """A dataset in which sample i has label i."""
    dataset = torch_sets.in_memory(datasets.MNIST, GRAY, count=23)
    dataset.targets = torch.arange(23)
    return dataset


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"num_samples": 50}, {"num_samples": 9}, {"replacement": True, "num_samples": 70}],
    ids=str,
)
def test_a_loop_that_ends_early_leaves_the_generator_as_in_torch(numbered, options, workers):
    """A RandomSampler draws more numbers when it is exhausted."""

    def make(drop_last):
        generator = torch.Generator().manual_seed(4)
        sampler = RandomSampler(numbered, generator=generator, **options)
        return DataLoader(
            numbered,
            *(4, False, sampler),
            num_workers=workers,
            drop_last=drop_last,
            generator=generator,
        )

    def run(loader, takes_one):
        out = []
        for stop in (1, None, 0, 2, None):  # 0: iter() alone
            batches = itertools.islice(iter(loader), stop)
            out.append([labels.tolist() for _, labels in batches])
            if takes_one and stop == 2:
                out.append(int(torch.randint(99, (), generator=loader.generator)))
        return out

    for drop_last in (False, True):
        ours = accelerated(make(drop_last), order_from="sampler")
        assert run(ours, False) == run(make(drop_last), False)
    ours = accelerated(make(False), order_from="sampler")
    assert len(run(ours, True)) == 6, "a generator that the script uses itself is left alone"
