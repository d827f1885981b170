"""accelerate(pack=...): reads files first and a pack in a later epoch; batches stay the same."""

import errno
import json
import os
import pickle
import shutil
import time

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, DistributedSampler, Subset
from tundish.dropin.changes.file_stamps import stamps_path
from tundish.dropin.datasets import part_sources
from tundish.dropin.packs import pack_contents, packs

from tests.helpers import torch_sets
from tests.helpers.torch_sets import FIXED, RANDOM, accelerated, same_batches


@pytest.fixture
def folder(tmp_path):
    return torch_sets.write_folder(tmp_path / "photos", 9)


def wait_for(loader):
    """Waits until the packing program has exited."""
    assert loader._pack._process.wait(60) == 0


def batches(loader, epochs=1):
    return [batch for _ in range(epochs) for batch in loader]


def test_a_pack_is_made_in_the_background_and_used_from_the_next_epoch_on(folder):
    dataset = Subset(torch_sets.image_folder(folder, RANDOM), [0, 5, 3, 8, 1])

    def make(pack=None):
        torch.manual_seed(3)
        return accelerated(DataLoader(dataset, 2, shuffle=True), pack=pack)

    expected = batches(make(), 3)
    loader = make(pack="auto")
    assert "in the background" in str(loader.report)
    first = batches(loader)
    wait_for(loader)
    rest = batches(loader, 2)
    assert f"batches come from {folder}.auto.tnd" in str(loader.report)
    for one, other in zip(first + rest, expected, strict=True):
        assert torch.equal(one[0], other[0]), "the order and the augmentations go on"
        assert torch.equal(one[1], other[1])
    again = make(pack="auto")
    assert "which has these files" in str(again.report), "the pack was found"
    assert [x[1].tolist() for x in again] == [x[1].tolist() for x in expected[:3]]


def labels_of(loader):
    return [labels.tolist() for _, labels in loader]


def test_a_state_of_the_pack_goes_on_with_the_files(folder):
    pack = folder.parent / "train.tnd"
    wait_for(accelerated(DataLoader(torch_sets.image_folder(folder), 2), pack=pack))

    def make(**options):
        loader = DataLoader(torch_sets.image_folder(folder, RANDOM), 2, shuffle=True)
        return accelerated(loader, seed=5, **options)

    loader = make(pack=pack)
    assert "which has these files" in str(loader.report)
    iterator = iter(loader)
    next(iterator)
    state, copied, rest = loader.state_dict(), pickle.dumps(loader), labels_of(iterator)
    for again in (make(pack=pack), make()):
        again.load_state_dict(json.loads(json.dumps(state)))
        assert labels_of(again) == rest
    pack.unlink()
    copy = pickle.loads(copied)
    assert labels_of(copy) == rest
    copy.close()
    other = accelerated(DataLoader(torch_sets.image_folder(folder), 2, shuffle=True), seed=5)
    with pytest.raises(tundish.Error, match="transforms"):
        other.load_state_dict(state)


def test_a_state_of_the_first_rank_is_enough_for_a_rank_without_the_pack(folder, monkeypatch):
    """The first rank compares pack and files; the other ranks read the files in the meantime."""
    pack = folder.parent / "train.tnd"
    dataset = torch_sets.image_folder(folder)
    wait_for(accelerated(DataLoader(dataset, 2), pack=pack))
    monkeypatch.setenv("WORLD_SIZE", "2")

    def make(rank):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        sampler = DistributedSampler(dataset, 2, rank)
        return accelerated(DataLoader(dataset, 2, sampler=sampler), pack=pack)

    first, second = make(0), make(1)
    batches_of_second = labels_of(second)
    next(iter(first))
    state = first.state_dict()
    os.unlink(stamps_path(str(pack)))
    again = make(1)
    assert again._pack is not None, "it reads the files"
    again.load_state_dict(state)
    assert labels_of(again) == batches_of_second[1:]


def test_a_state_of_the_files_goes_on_with_the_pack(folder):
    dataset = torch_sets.image_folder(folder, RANDOM)
    loader = accelerated(DataLoader(dataset, 2, shuffle=True), pack="auto", seed=5)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    expected = next(iterator)
    list(iterator)
    wait_for(loader)
    list(loader)
    loader.load_state_dict(state)
    assert torch.equal(next(iter(loader))[0], expected[0])
    again = accelerated(DataLoader(dataset, 2, shuffle=True), pack="auto", seed=5)
    assert "which has these files" in str(again.report)
    again.load_state_dict(state)
    assert torch.equal(next(iter(again))[0], expected[0]), "in a run that begins with the pack"


def test_a_pack_is_rebuilt_when_its_files_change(folder):
    dataset = torch_sets.image_folder(folder)
    loader = accelerated(DataLoader(dataset, 4), pack="auto")
    wait_for(loader)
    path = dataset.samples[4][0]
    shutil.copyfile(dataset.samples[0][0], path)
    later = time.time() + 5
    os.utime(path, (later, later))
    loader = accelerated(DataLoader(dataset, 4), pack="auto")
    assert "has other bytes than its record" in str(loader.report)
    wait_for(loader)
    assert same_batches(loader, DataLoader(dataset, 4))
    assert "batches come from" in str(loader.report)


def test_a_given_pack_of_other_files_is_left_alone(folder, tmp_path):
    other = torch_sets.image_folder(torch_sets.write_folder(tmp_path / "other", 7), FIXED)
    pack = tmp_path / "mine.tnd"
    wait_for(accelerated(DataLoader(other, 4), pack=pack))
    before = pack.read_bytes()
    theirs = DataLoader(torch_sets.image_folder(folder), 4)
    loader = accelerated(theirs, pack=pack)
    assert "has 7 samples, the dataset 9" in str(loader.report)
    assert same_batches(loader, theirs)
    assert pack.read_bytes() == before
    assert "which has these files" in str(accelerated(DataLoader(other, 4), pack=pack).report)


def test_files_that_cannot_be_packed_are_named_and_read_as_they_are(folder):
    dataset = torch_sets.image_folder(folder)
    with open(dataset.samples[4][0], "wb") as file:
        file.write(b"")
    loader = accelerated(DataLoader(dataset, 2), pack="auto", on_error="skip")
    assert loader._pack._process.wait(60) != 0
    with pytest.warns(UserWarning, match="bad sample"):
        assert sum(len(labels) for _, labels in loader) == 8
    assert "was not made: 1 files were refused" in str(loader.report)


def test_exiting_before_the_pack_is_complete_leaves_no_process(folder):
    loader = accelerated(DataLoader(torch_sets.image_folder(folder), 4), pack="auto")
    process, scratch = loader._pack._process, loader._pack._folder
    del loader
    assert process.poll() is not None
    assert not os.path.exists(scratch)


def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_temporary_folder_keeps_torchs_code(folder, monkeypatch):
    dataset = torch_sets.image_folder(folder)
    monkeypatch.setattr(part_sources, "write_list", no_space)
    loader = tundish.accelerate(DataLoader(dataset, 4), pack="auto")
    assert not loader.report.native
    assert "No space left on device" in str(loader.report)
    assert "TMPDIR" in str(loader.report)
    assert same_batches(loader, DataLoader(dataset, 4))


def test_a_pack_that_cannot_be_made_or_compared_leaves_the_files(folder, monkeypatch):
    theirs = DataLoader(torch_sets.image_folder(folder), 4)
    with monkeypatch.context() as change:
        change.setattr(packs, "write_list", no_space)
        loader = accelerated(theirs, pack="auto")
    assert f"{folder}.auto.tnd is not made: " in str(loader.report)
    assert same_batches(loader, theirs)
    assert not list(folder.parent.glob("*.tnd"))
    loader = accelerated(theirs, pack="auto")
    wait_for(loader)
    shutil.copytree(folder, f"{folder}2")
    shutil.rmtree(folder)
    os.rename(f"{folder}2", folder)  # other times, so that the files are compared
    with monkeypatch.context() as change:
        change.setattr(pack_contents, "write_list", no_space)
        assert same_batches(loader, theirs)
    assert "cannot be compared with the files: " in str(loader.report)
    assert "batches come from" not in str(loader.report)
