"""The doctor makes the samples of a batch in the same way as torch's DataLoader."""

from types import SimpleNamespace

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
    get_worker_info,
)
from tundish.diagnosis.probe.facts import SampleFacts
from tundish.diagnosis.probe.loaders.dataset_profile import profile_dataset
from tundish.diagnosis.probe.loaders.loader_facts import loader_facts
from tundish.diagnosis.verdict.loading import _sampled
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, sampled, step


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.ones(8), index


class CountedBatches(Numbers):
    """A dataset that makes whole batches, as torch requests them."""

    def __init__(self):
        self.sizes = []

    def __getitem__(self, index):
        raise AssertionError("torch calls __getitems__()")

    def __getitems__(self, indices):
        self.sizes.append(len(indices))
        return [(torch.ones(8), index) for index in indices]


class SizedStream(IterableDataset):
    def __len__(self):
        return 64

    def __iter__(self):
        return ((torch.ones(8), number) for number in range(64))


class OwnBatches:
    """A batch sampler that does not tell its batch size."""

    def __iter__(self):
        return iter([[0, 1, 2], [3, 4, 5]])

    def __len__(self):
        return 2


def profile(*arguments, **options):
    return profile_dataset(DataLoader(*arguments, **options), 1.0)


def test_a_batch_of_a_batch_sampler_has_all_its_samples():
    sampler = RandomSampler(Numbers(), generator=torch.Generator())
    state = sampler.generator.get_state()
    found = profile(Numbers(), batch_sampler=BatchSampler(sampler, 8, False))
    assert (found.batch_size, found.samples) == (8, 8)
    assert found.collate_s > 0
    assert torch.equal(sampler.generator.get_state(), state)
    assert profile(Numbers(), batch_sampler=OwnBatches()).batch_size == 3
    assert profile(Numbers(), batch_size=None).batch_size == 1


def test_the_stages_of_a_batch_cover_the_samples_of_a_batch_sampler():
    row = SimpleNamespace(name="read", kind="read", s=0.01, blocked_s=0.01, file="", line=0)
    samples = SampleFacts(8, 0.01, 0.01, [row], 0.0, batch_size=8)
    loader = SimpleNamespace(samples=samples, batch_size=None, num_workers=0)
    found = _sampled(SimpleNamespace(loader=loader, cpus=2))
    assert abs(found.batch_s - 0.08) < 1e-9


def test_a_stream_that_knows_its_length_is_iterated():
    found = profile(SizedStream(), 4)
    assert (found.batch_size, found.samples) == (4, 4)


def test_a_dataset_that_makes_batches_is_asked_for_batches():
    dataset = CountedBatches()
    found = profile(dataset, 8)
    assert found.samples == 8
    assert dataset.sizes == [1, 8, 8]
    profile(Subset(dataset, range(16)), 8)
    assert dataset.sizes[3:] == [1, 8, 8]
    assert profile(Subset(Numbers(), range(16)), 8).samples == 8


def test_a_dataset_may_make_finished_batches():
    class Finished(Numbers):
        def __getitems__(self, indices):
            return torch.ones(len(indices), 8), torch.tensor(indices)

    def collate(batch):
        assert batch[0].shape == (8, 8)
        return batch

    assert profile(Finished(), 8, collate_fn=collate).samples == 8


class Undivided(IterableDataset):
    def __iter__(self):
        return iter([torch.ones(8)] * 64)


class Divided(Undivided):
    def first(self):
        return get_worker_info()

    def __iter__(self):
        self.first()
        return super().__iter__()


def test_a_stream_that_every_worker_would_repeat_must_be_divided_first():
    assert loader_facts(DataLoader(Undivided(), 4)).undivided
    for dataset in (Divided(), Numbers(), [1, 2]):
        assert not loader_facts(DataLoader(dataset, 4)).undivided
    assert not loader_facts(DataLoader(Undivided(), 4, worker_init_fn=print)).undivided
    for undivided in (True, False):
        rows = [("read", "read", 0.01, 0.01)]
        loader = sampled(rows, 0.01, 0.01, workers=0, undivided=undivided)
        verdict = judge(facts([step(data=0.1)] * 20, loader=loader))
        workers = next(change for change in verdict.changes if change.apply)
        assert ("each worker would return all of them" in workers.how) is undivided
