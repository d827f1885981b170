"""Samplers: which samples an accelerated DataLoader visits, how often, and on which rank."""

from collections import Counter

import numpy as np
import pytest
import torch
import tundish
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torchvision import datasets

from tests.helpers import torch_sets
from tests.helpers.torch_sets import GRAY, accelerated, same_batches


@pytest.fixture(scope="module")
def numbered():
    """A dataset in which sample i has label i."""
    dataset = torch_sets.in_memory(datasets.MNIST, GRAY, count=23)
    dataset.targets = torch.arange(23)
    return dataset


def labels_of(loader):
    return [labels.tolist() for _, labels in loader]


def flat(loader):
    return [label for batch in labels_of(loader) for label in batch]


def test_shuffling_visits_every_sample_once_and_differs_by_epoch(numbered):
    loader = accelerated(DataLoader(numbered, 4, shuffle=True), prove_batches=6)
    epochs = [flat(loader) for _ in range(3)]
    assert all(sorted(epoch) == list(range(23)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    part = accelerated(DataLoader(Subset(numbered, [9, 4, 4, 1]), 3, shuffle=True))
    assert sorted(flat(part)) == [1, 4, 4, 9]


def test_the_seed_is_torchs_or_the_generators(numbered):
    def order(seed, of_generator):
        generator = torch.Generator().manual_seed(of_generator)
        torch.manual_seed(seed)
        return flat(accelerated(DataLoader(numbered, 4, shuffle=True, generator=generator)))

    assert order(1, 2) == order(3, 2)
    assert order(1, 2) != order(1, 4)
    torch.manual_seed(7)
    one = flat(accelerated(DataLoader(numbered, 4, shuffle=True)))
    torch.manual_seed(7)
    assert flat(accelerated(DataLoader(numbered, 4, shuffle=True))) == one
    assert flat(accelerated(DataLoader(numbered, 4, shuffle=True), seed=3)) != one


@pytest.mark.parametrize("own_generator", [False, True])
@pytest.mark.parametrize("order", ["tundish", "sampler"])
def test_a_loader_created_in_every_epoch_has_other_orders_and_augmentations(order, own_generator):
    dataset = torch_sets.in_memory(datasets.CIFAR10, torch_sets.RANDOM, count=12)

    def epochs():
        torch.manual_seed(3)
        options = {"generator": torch.Generator().manual_seed(4)} if own_generator else {}
        for _ in range(3):
            loader = accelerated(DataLoader(dataset, 12, shuffle=True, **options), order_from=order)
            images, labels = next(iter(loader))
            yield labels.tolist(), images[labels.argsort(stable=True)]

    first, second, third = epochs()
    assert first[0] != second[0] != third[0] != first[0]
    assert not torch.equal(first[1], second[1])
    assert not torch.equal(second[1], third[1])
    again = next(epochs())
    assert again[0] == first[0]
    assert torch.equal(again[1], first[1])


def test_loaders_created_before_they_are_iterated_have_different_seeds(numbered):
    def orders():
        torch.manual_seed(3)
        loaders = [accelerated(DataLoader(numbered, 4, shuffle=True)) for _ in range(3)]
        return [flat(loader) for loader in loaders]

    first = orders()
    assert first[0] != first[1] != first[2] != first[0]
    assert orders() == first, "the same seed gives the same orders"
    dataset = torch_sets.in_memory(datasets.CIFAR10, torch_sets.RANDOM, count=9)
    one, other = (accelerated(DataLoader(dataset, 9)) for _ in range(2))
    assert not torch.equal(next(iter(one))[0], next(iter(other))[0]), "two views of each image"


def test_a_loader_draws_one_number_when_it_is_first_iterated(numbered):
    torch.manual_seed(3)
    expected = torch.empty((), dtype=torch.int64).random_(), torch.rand(2)
    torch.manual_seed(3)
    loader = accelerated(DataLoader(numbered, 4, shuffle=True))
    list(loader)
    state = loader.state_dict()
    list(loader)
    assert state["seed"] == expected[0]
    assert torch.equal(torch.rand(2), expected[1])
    torch.manual_seed(3)
    resumed = accelerated(DataLoader(numbered, 4, shuffle=True))
    resumed.load_state_dict(state)
    list(resumed)
    fixed = accelerated(DataLoader(numbered, 4, shuffle=True), seed=1)
    list(fixed)
    assert torch.empty((), dtype=torch.int64).random_() == expected[0], "neither draws"


def test_a_random_sampler_may_draw_fewer_or_repeated_samples(numbered):
    fewer = accelerated(DataLoader(numbered, 4, sampler=RandomSampler(numbered, num_samples=9)))
    first, second = flat(fewer), flat(fewer)
    assert len(set(first)) == len(set(second)) == 9
    assert set(first) != set(second)
    drawn = RandomSampler(numbered, replacement=True, num_samples=5000)
    counts = Counter(flat(accelerated(DataLoader(numbered, 50, sampler=drawn))))
    assert len(counts) == 23
    assert max(abs(n - 5000 / 23) for n in counts.values()) < 5 * (5000 / 23) ** 0.5
    more = RandomSampler(numbered, num_samples=60)  # concatenates torch's permutations
    counts = Counter(flat(accelerated(DataLoader(numbered, 4, sampler=more))))
    assert sorted(set(counts.values())) == [2, 3]


def test_weights_keep_their_distribution(numbered):
    weights = np.arange(23) / 10
    sampler = WeightedRandomSampler(weights, 8000)
    counts = Counter(flat(accelerated(DataLoader(numbered, 100, sampler=sampler))))
    assert sum(counts.values()) == 8000
    assert counts[0] == 0
    expected = 8000 * weights / weights.sum()
    assert all(abs(counts[i] - n) < 5 * n**0.5 + 1 for i, n in enumerate(expected))
    # With a Subset, weights refer to the subset's indices.
    part = Subset(numbered, [5, 6, 5])
    sampler = WeightedRandomSampler([1, 0, 3], 50)
    assert set(flat(accelerated(DataLoader(part, 10, sampler=sampler)))) == {5}
    alone = WeightedRandomSampler(weights, 20, replacement=False)
    drawn = flat(accelerated(DataLoader(numbered, 4, sampler=alone)))
    assert len(set(drawn)) == 20
    assert 0 not in drawn


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("own_generator", [False, True])
def test_the_samplers_order_is_torchs_in_every_epoch(numbered, workers, persistent, own_generator):
    """Persistent workers keep their iterator, which draws the workers' seed only once."""

    def make():
        torch.manual_seed(3)
        generator = torch.Generator().manual_seed(4) if own_generator else None
        options = {"num_workers": workers, "persistent_workers": persistent and workers > 0}
        return DataLoader(numbered, 4, shuffle=True, generator=generator, **options)

    expected = make()
    epochs = [flat(expected) for _ in range(4)]
    loader = accelerated(make(), order_from="sampler")
    assert [flat(loader) for _ in range(4)] == epochs
    assert "second epoch" not in str(loader.report)


def test_random_transforms_that_share_the_samplers_numbers_are_reported():
    dataset = torch_sets.in_memory(datasets.CIFAR10, torch_sets.RANDOM, count=9)
    generator = torch.Generator()

    def differs(order, **options):
        loader = DataLoader(dataset, 4, shuffle=True, **options)
        return "second epoch" in str(accelerated(loader, order_from=order).report)

    assert differs("sampler")
    assert not differs("tundish")
    assert not differs("sampler", num_workers=1)
    assert not differs("sampler", generator=generator)


def test_a_subset_sampler_visits_its_indices(numbered):
    loader = accelerated(DataLoader(numbered, 2, sampler=SubsetRandomSampler([8, 1, 20, 5])))
    epochs = [flat(loader) for _ in range(4)]
    assert all(sorted(epoch) == [1, 5, 8, 20] for epoch in epochs)
    assert len(set(map(tuple, epochs))) > 1


@pytest.mark.parametrize("of_sampler", [False, True])
@pytest.mark.parametrize("of_loader", [False, True])
@pytest.mark.parametrize("count", [20, 23])
def test_ranks_share_an_epoch_with_torchs_sizes(numbered, of_sampler, of_loader, count):
    dataset = Subset(numbered, range(count))
    ranks = []
    for rank in range(3):
        sampler = DistributedSampler(dataset, 3, rank, drop_last=of_sampler)
        theirs = DataLoader(dataset, 4, sampler=sampler, drop_last=of_loader)
        ours = accelerated(theirs)
        assert list(map(len, labels_of(ours))) == list(map(len, labels_of(theirs)))
        assert len(ours) == len(theirs)
        ranks.append(flat(ours))
    seen = Counter(label for rank in ranks for label in rank)
    assert sum(n - 1 for n in seen.values()) <= 2, "at most world size - 1 samples fill up"
    if not of_sampler and not of_loader:
        assert set(seen) == set(range(count))


def test_ranks_without_shuffling_have_torchs_batches(numbered):
    for rank in range(3):
        sampler = DistributedSampler(numbered, 3, rank, shuffle=False)
        theirs = DataLoader(numbered, 3, sampler=sampler)
        assert same_batches(accelerated(theirs), theirs)


def test_the_epoch_of_the_sampler_is_followed(numbered):
    sampler = DistributedSampler(numbered, 2, 0)
    loader = accelerated(DataLoader(numbered, 4, sampler=sampler))
    epochs = [flat(loader) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    for epoch in (2, 0, 1):
        sampler.set_epoch(epoch)
        assert flat(loader) == epochs[epoch]
    iterator = iter(loader)  # a framework may call set_epoch after iter()
    loader.sampler.set_epoch(0)
    assert [label for _, labels in iterator for label in labels.tolist()] == epochs[0]
    loader.set_epoch(2)
    assert sampler.epoch == 2
    assert flat(loader) == epochs[2]


def test_an_epoch_that_is_set_after_iter_is_followed_as_in_torch(numbered):
    orders = []
    for change in (lambda loader: loader, lambda loader: accelerated(loader, order_from="sampler")):
        sampler = DistributedSampler(numbered, 2, 0, seed=3)
        loader = change(DataLoader(numbered, 4, sampler=sampler))
        for epoch in range(3):
            batches = iter(loader)
            sampler.set_epoch(epoch)
            orders.append([labels.tolist() for _, labels in batches])
    assert orders[:3] == orders[3:]
    assert orders[0] != orders[1]


def test_the_epoch_of_a_sampler_inside_a_batch_sampler_is_followed(numbered):
    sampler = DistributedSampler(numbered, 2, 0)
    loader = accelerated(DataLoader(numbered, batch_sampler=BatchSampler(sampler, 4, False)))
    sampler.set_epoch(5)
    list(loader)
    assert loader.epoch == 6
    loader.set_epoch(2)
    assert sampler.epoch == 2


def test_indices_that_are_no_whole_numbers_raise_torchs_errors(numbered):
    for indices in ([1.7, 2.2], ["1", "2"], [None], [[0, 1], [2, 3]], [torch.tensor(2.0)]):
        with pytest.raises(TypeError):
            list(accelerated(DataLoader(numbered, 2, sampler=Listed(indices))))
    good = Listed([torch.tensor(3), np.int16(4), True, torch.tensor([5])])
    assert flat(accelerated(DataLoader(numbered, 2, sampler=good))) == [3, 4, 1, 5]


def test_a_rank_without_samples_has_no_batches(numbered):
    part = Subset(numbered, [1, 2])
    sampler = DistributedSampler(part, 5, 0, shuffle=False, drop_last=True)
    assert list(tundish.accelerate(DataLoader(part, 4, sampler=sampler))) == []


def test_a_sampler_of_the_users_gives_its_own_indices(numbered):
    theirs = DataLoader(numbered, 5, sampler=torch_sets.OwnSampler(23))
    ours = accelerated(theirs)
    for seed in (1, 2):
        torch.manual_seed(seed)
        expected = list(theirs)
        torch.manual_seed(seed)
        assert same_batches(ours, expected)
    assert len(ours) == 5
    twice = DataLoader(Subset(numbered, [3, 3, 5]), 2, sampler=torch_sets.OwnSampler(3))
    assert sorted(flat(accelerated(twice, prove_batches=2))) == [3, 3, 5, 5]
    assert not hasattr(ours, "state_dict"), "it cannot say where the sampler is"


@pytest.mark.parametrize("drop_last", [False, True])
def test_torchs_order_can_be_requested(numbered, drop_last):
    theirs = DataLoader(numbered, 4, shuffle=True, drop_last=drop_last)
    ours = accelerated(theirs, order_from="sampler", prove_batches=2)
    torch.manual_seed(3)
    expected = list(theirs), list(theirs)
    torch.manual_seed(3)
    assert same_batches(ours, expected[0])
    assert same_batches(ours, expected[1])


def test_a_sampler_that_never_ends_is_an_error(numbered):
    class Endless(torch_sets.OwnSampler):
        def __iter__(self):
            while True:
                yield 1

    with pytest.raises(RuntimeError, match="Endless yields more than"):
        list(accelerated(DataLoader(numbered, 4, sampler=Endless(23))))


class Listed(torch_sets.OwnSampler):
    def __init__(self, indices):
        self.indices = indices

    def __len__(self):
        return len(self.indices)

    def __iter__(self):
        return iter(self.indices)


OFTEN = {
    "own sampler": lambda data: Listed([0] * 500 + [2, 1, -1]),
    "more than all": lambda data: RandomSampler(data, num_samples=900),
    "replacement": lambda data: RandomSampler(data, replacement=True, num_samples=900),
    "weights": lambda data: WeightedRandomSampler([9, 1, 1], 300),
}


@pytest.mark.parametrize("order", ["tundish", "sampler"])
@pytest.mark.parametrize("name", OFTEN)
def test_a_sample_may_occur_hundreds_of_times_in_an_epoch(numbered, name, order):
    part = Subset(numbered, [3, 7, 20])
    theirs = DataLoader(part, 50, sampler=OFTEN[name](part))
    ours = accelerated(theirs, order_from=order, prove_batches=2)
    for seed in (1, 2):
        torch.manual_seed(seed)
        expected = list(theirs)
        torch.manual_seed(seed)
        if order == "sampler" or name == "own sampler":
            assert same_batches(ours, expected)
        else:
            got = labels_of(ours)
            assert list(map(len, got)) == [len(labels) for _, labels in expected]
            assert {label for batch in got for label in batch} == {3, 7, 20}


def test_a_data_set_may_be_concatenated_with_itself(numbered):
    many = ConcatDataset([Subset(numbered, [5, 2])] * 30 + [numbered])
    theirs = DataLoader(many, 16)
    assert same_batches(accelerated(theirs, prove_batches=2), theirs)
    shuffled = accelerated(DataLoader(many, 16, shuffle=True))
    for _ in range(2):
        counts = Counter(flat(shuffled))
        assert counts == Counter({**dict.fromkeys(range(23), 1), 5: 31, 2: 31})


def test_a_sample_is_augmented_differently_each_time_it_comes(tmp_path):
    folder = torch_sets.write_folder(tmp_path / "photos", 3)
    dataset = torch_sets.image_folder(folder, torch_sets.RANDOM)
    theirs = DataLoader(dataset, 40, sampler=Listed([1] * 40))
    [[images, _]] = accelerated(theirs)
    assert len({image.numpy().tobytes() for image in images}) == 40


def test_a_run_with_repeats_resumes_in_mid_epoch(numbered):
    def make():
        many = ConcatDataset([numbered, numbered])
        return accelerated(DataLoader(many, 4, shuffle=True), seed=3)

    whole, cut = make(), make()
    expected = flat(whole)
    iterator = iter(cut)
    first = [label for _ in range(5) for label in next(iterator)[1].tolist()]
    again = make()
    again.load_state_dict(cut.state_dict())
    assert first + flat(again) == expected
