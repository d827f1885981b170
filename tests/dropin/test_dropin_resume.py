"""An accelerated DataLoader can be saved and pickled, and resumes in mid-epoch."""

import json
import pickle
import shutil
import threading

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, DistributedSampler

from tests.helpers import torch_sets
from tests.helpers.torch_sets import RANDOM, accelerated


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("resume") / "photos", 15)


def make(folder, **options):
    dataset = torch_sets.image_folder(folder, RANDOM)
    return accelerated(DataLoader(dataset, 4, shuffle=True), seed=1, **options)


def equal(ours, expected):
    pairs = list(zip(ours, expected, strict=True))
    return all(torch.equal(a, c) and torch.equal(b, d) for (a, b), (c, d) in pairs)


def test_a_state_resumes_in_mid_epoch(folder):
    loader = make(folder)
    list(loader)
    iterator = iter(loader)
    next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    rest = list(iterator)
    again = make(folder)
    again.load_state_dict(state)
    assert equal(again, rest)
    assert again.epoch == 2


def test_a_pickled_copy_resumes_in_mid_epoch(folder):
    loader = make(folder)
    iterator = iter(loader)
    next(iterator)
    copy = pickle.loads(pickle.dumps(loader))
    assert equal(copy, list(iterator))
    assert str(copy.report) == str(loader.report)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_state_and_a_copy_restore_their_seed(folder, ranks):
    dataset = torch_sets.image_folder(folder, RANDOM)
    sampler = DistributedSampler(dataset, 2, 1, seed=4) if ranks == 2 else None
    theirs = DataLoader(dataset, 2, shuffle=ranks == 1 or None, sampler=sampler)
    torch.manual_seed(11)
    loader = accelerated(theirs)
    iterator = iter(loader)
    next(iterator)
    state, pickled, rest = loader.state_dict(), pickle.dumps(loader), list(iterator)
    torch.manual_seed(12)  # another process has another seed
    again = accelerated(theirs)
    again.load_state_dict(state)
    assert equal(again, rest)
    assert equal(pickle.loads(pickled), rest)
    fixed = accelerated(theirs, seed=3)
    with pytest.raises(tundish.Error, match="another seed"):
        fixed.load_state_dict(state)


def test_a_resumed_rank_may_set_the_epoch_that_it_is_in(folder):
    dataset = torch_sets.image_folder(folder, RANDOM)
    sampler = DistributedSampler(dataset, 2, 1)
    loader = accelerated(DataLoader(dataset, 2, sampler=sampler))
    sampler.set_epoch(3)
    iterator = iter(loader)
    next(iterator)
    state, rest = loader.state_dict(), list(iterator)
    sampler = DistributedSampler(dataset, 2, 1)
    again = accelerated(DataLoader(dataset, 2, sampler=sampler))
    again.load_state_dict(state)
    sampler.set_epoch(3)
    assert equal(again, rest)


def test_a_run_resumes_after_its_folder_has_moved(folder, tmp_path):
    """Jobs of a cluster copy their data to a folder of their own."""
    loader = make(folder)
    iterator = iter(loader)
    next(iterator)
    state, rest = loader.state_dict(), list(iterator)
    shutil.copytree(folder, tmp_path / "job" / "photos")
    again = make(tmp_path / "job" / "photos")
    again.load_state_dict(state)
    assert equal(again, rest)
    image = next((tmp_path / "job").rglob("*.png"))
    image.write_bytes(image.read_bytes() + b"more")
    with pytest.raises(tundish.Error, match="other data"):
        make(tmp_path / "job" / "photos").load_state_dict(state)


def test_an_epoch_set_earlier_does_not_move_the_place_of_a_state(folder):
    dataset = torch_sets.image_folder(folder, RANDOM)
    sampler = DistributedSampler(dataset, 2, 1)
    theirs = DataLoader(dataset, 2, sampler=sampler)
    loader = accelerated(theirs)
    sampler.set_epoch(3)
    list(loader)
    iterator = iter(loader)  # epoch 4: the script sets no epoch
    next(iterator)
    copy, state, rest = pickle.loads(pickle.dumps(loader)), loader.state_dict(), list(iterator)
    again = accelerated(theirs)
    again.load_state_dict(state)
    assert (again.epoch, loader.epoch) == (4, 5)
    assert equal(again, rest)
    assert equal(copy, rest)


def test_a_state_before_the_first_batch_has_the_epoch_of_the_sampler(folder):
    dataset = torch_sets.image_folder(folder, RANDOM)
    sampler = DistributedSampler(dataset, 2, 1)
    loader = accelerated(DataLoader(dataset, 2, sampler=sampler))
    sampler.set_epoch(3)
    copy = pickle.loads(pickle.dumps(loader))
    assert loader.state_dict()["epoch"] == 3
    assert equal(copy, list(loader))


def test_a_loader_with_torchs_order_can_be_pickled(folder):
    loader = pickle.loads(pickle.dumps(make(folder, order_from="sampler")))
    assert sum(len(labels) for _, labels in loader) == 15


def test_threads_that_share_an_iterator_get_each_batch_once(folder):
    expected = list(make(folder))
    iterator, got = iter(make(folder)), []
    threads = [threading.Thread(target=lambda: got.extend(iterator)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(expected)
    keys = [sorted(float(images.sum()) for images, _ in batches) for batches in (got, expected)]
    assert keys[0] == keys[1]
