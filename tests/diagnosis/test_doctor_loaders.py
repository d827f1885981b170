"""Loops with several loaders: the doctor caches, replaces and judges only the training loader."""

import itertools
import time
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers import plants

EPOCHS = 30  # more than all phases need


class Training(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.ones(8), index % 4


class Validation(Dataset):
    """A dataset whose batches have another structure and other values."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return {"x": torch.zeros(8), "index": index}


class Loop:
    def __init__(self):
        self.model = torch.nn.Linear(8, 4)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01)

    def step(self, x, y):
        self.optimizer.zero_grad()
        torch.nn.functional.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()


def phases(session):
    return {one.phase for one in session.watch.steps}


@pytest.mark.parametrize("workers", [0, 1])
def test_a_validation_gets_its_own_batches_beside_cached_ones_too(workers):
    loop, training = Loop(), DataLoader(Training(), 2)
    kept = {"num_workers": workers, "persistent_workers": workers > 0}
    validation, seen, lengths = DataLoader(Validation(), 2, **kept), [], []
    with plants.watched() as session:
        for _ in range(EPOCHS):
            lengths.append(sum(1 for batch in training if loop.step(*batch) is None))
            seen.append([index for batch in validation for index in batch["index"].tolist()])
    assert "cached" in phases(session)
    assert session.watch.phase == "done"
    assert seen == [list(range(6))] * EPOCHS
    assert lengths == [6] * EPOCHS


def test_a_validation_in_the_middle_of_an_epoch_does_not_change_its_length():
    loop, training = Loop(), DataLoader(Training(), 2)
    validation, lengths = DataLoader(Validation(), 2), []
    with plants.watched() as session:
        for _ in range(EPOCHS):
            number = 0
            for number, batch in enumerate(training, 1):
                loop.step(*batch)
                assert number != 3 or sum(len(one["x"]) for one in validation) == 6
            lengths.append(number)
    assert "cached" in phases(session)
    assert lengths == [6] * EPOCHS


def test_two_loaders_of_one_dataset_are_kept_apart():
    loop, data = Loop(), Training()
    training = DataLoader(data, 2, sampler=SubsetRandomSampler(range(8)))
    validation, seen = DataLoader(data, 2, sampler=range(8, 12)), []
    with plants.watched() as session:
        for _ in range(EPOCHS):
            for batch in training:
                loop.step(*batch)
            seen.append([label for _, labels in validation for label in labels.tolist()])
    assert "cached" in phases(session)
    assert seen == [[0, 1, 2, 3]] * EPOCHS


def test_alternating_trainings_get_batches_from_their_own_loaders():
    loop = Loop()
    first = DataLoader(Training(), 2)
    second = DataLoader([(torch.ones(8), 1, "second")] * 4, 2)
    with plants.watched() as session:
        for _ in range(EPOCHS):
            for x, y in first:
                loop.step(x, y)
            for x, y, name in second:
                assert name == ("second", "second")
                loop.step(x, y)
    assert session.watch.phase == "done"
    cached = [one for one in session.watch.steps if one.phase == "cached" and not one.boundary]
    assert cached
    assert all(one.seconds["data"] == 0 for one in cached), "only steps with cached batches"


def test_persistent_workers_whose_epoch_was_left_keep_its_length():
    loop, lengths = Loop(), []
    training = DataLoader(Training(), 2, num_workers=1, persistent_workers=True)
    with plants.watched(warm_up=1) as session:
        for _ in range(EPOCHS):
            taken = itertools.islice(training, 4)
            lengths.append(sum(1 for batch in taken if loop.step(*batch) is None))
    assert "cached" in phases(session)
    assert lengths == [4] * EPOCHS


def test_only_an_iterator_older_than_the_watch_is_replaced():
    loop, batches = Loop(), iter(DataLoader([(torch.ones(8), 1)] * 200, 2))
    others = iter(DataLoader([torch.zeros(8)] * 200, 2))
    with plants.watched() as session:
        for batch in batches:
            assert next(others).shape == (2, 8)
            loop.step(next(batches)[0], batch[1])
    assert "cached" in phases(session)


def test_the_loader_that_feeds_the_training_is_judged_and_not_the_last_one():
    loop, training = Loop(), DataLoader(Training(), 2)
    validation = DataLoader(Validation(), 3)
    with plants.watched(steps=500) as session:
        for _ in range(2):
            for batch in training:
                loop.step(*batch)
            assert sum(1 for _ in validation) == 2
    found = session.end()
    assert found.loader.dataset == f"{__name__}.Training"
    assert found.loader.batch_size == 2
    assert found.loader.samples is not None, "it was looked into"
    line = Path(__file__).read_text().splitlines()[found.next.line - 1]
    assert line.strip() == "for batch in training:"


def nested(first, second):
    """Returns pairs like zip(), with an endless iterator over the second loader."""
    endless = itertools.chain.from_iterable(itertools.repeat(second))
    for batch in first:
        yield batch, next(endless)


@pytest.mark.parametrize("pairs", [zip, nested])
def test_two_loaders_in_one_step_do_not_start_new_epochs(pairs):
    loop, counts = Loop(), []
    first, second = DataLoader(Training(), 2), DataLoader(Validation(), 1)
    with plants.watched() as session:
        for _ in range(EPOCHS):
            counts.append(0)
            for (x, y), other in pairs(first, second):
                assert other["x"].sum() == 0
                loop.step(x, y)
                counts[-1] += 1
    steps = session.watch.steps
    assert session.watch.phase == "done"
    assert "cached" in phases(session)
    assert counts == [6] * EPOCHS
    assert {one.batches for one in steps[1:] if not one.boundary} == {2}
    assert len(steps) < 40
    assert session.end().loader.dataset == f"{__name__}.Validation", "it came last"


@pytest.mark.parametrize("slow_first", [True, False])
def test_of_two_loaders_in_one_step_the_one_that_the_loop_waits_for_is_judged(slow_first):
    class Slow(Training):
        def __getitem__(self, index):
            time.sleep(0.004)
            return super().__getitem__(index)

    loop, slow, other = Loop(), DataLoader(Slow(), 2), DataLoader(Validation(), 1)
    validation = DataLoader(Slow(), 4)  # is not used in every step
    with plants.watched() as session:
        for _ in range(EPOCHS):
            for pair in zip(slow, other) if slow_first else zip(other, slow):
                loop.step(*pair[0 if slow_first else 1])
            assert len(list(validation)) == 3
    found = session.end()
    assert session.watch.loader is slow
    assert found.loader.dataset == f"{Slow.__module__}.{Slow.__qualname__}"
    steps = [one for one in found.steps if not one.boundary]
    assert {one.fed for one in steps[1:]} == {1}
    assert {one.batches for one in steps[1:]} == {2}
    measured = [one for one in steps if one.phase == "measure"]
    assert all(0 < one.other_data_s < 0.1 * one.seconds["data"] for one in measured)
    cached = [one for one in steps if one.phase == "cached"]
    assert cached
    assert all(one.seconds["data"] < 0.004 for one in cached), "without the slow loader"


@pytest.mark.parametrize("batch_size", [12, 3])
def test_one_optimizer_step_per_epoch_is_measured_and_counts(batch_size):
    loop, data = Loop(), DataLoader(Training(), batch_size)
    with plants.watched(warm_up=4) as session:
        for _ in range(EPOCHS):
            for x, y in data:
                torch.nn.functional.cross_entropy(loop.model(x), y).backward()
            loop.optimizer.step()
    assert session.watch.phase == "done"
    figures = judge(session.end()).figures
    assert (figures.steps + figures.rare_steps, figures.few) == (5, figures.steps < 5)
    assert figures.ceiling_from == "cached"


def test_a_phase_ends_even_if_no_more_steps_count():
    """The warm-up is one epoch; each later epoch has one batch."""
    loop, many, one = Loop(), DataLoader(Training(), 2), DataLoader(Training(), 12)
    with plants.watched(most_steps=20) as session:
        for number in range(100):
            for batch in one if number else many:
                loop.step(*batch)
    assert session.watch.phase == "done"
    assert sum(one.phase == "measure" for one in session.watch.steps) == 20


def test_a_loader_recreated_every_epoch_is_recognized_but_not_a_validation_loader():
    loop, lengths = Loop(), []

    def batches(training):
        yield from DataLoader(Training(), 2 if training else 3)  # both created on this line

    with plants.watched() as session:
        for _ in range(EPOCHS):
            lengths.append(sum(1 for batch in batches(True) if loop.step(*batch) is None))
            seen = [label for _, labels in batches(False) for label in labels.tolist()]
            assert seen == [0, 1, 2, 3] * 3
    assert session.watch.phase == "done"
    assert judge(session.end()).figures.ceiling_from == "cached"
    assert lengths == [6] * EPOCHS


def test_a_new_loader_on_the_same_line_with_other_batches_is_kept_apart():
    loop = Loop()
    with plants.watched() as session:
        for epoch in range(EPOCHS):
            more = (torch.zeros(1),) * (epoch % 2)
            for x, y, *rest in DataLoader([(torch.ones(8), 1, *more)] * 12, 2):
                assert len(rest) == epoch % 2
                loop.step(x, y)
    assert session.watch.phase == "done"
