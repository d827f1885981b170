"""Unusual datasets, samplers and DataLoaders: torch's batches, or torch's code with a reason."""

import os
import pathlib
import shutil
from array import array

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Subset, SubsetRandomSampler
from torchvision import datasets
from torchvision.transforms import v2

from tests.helpers import torch_sets
from tests.helpers.torch_sets import FIXED, GRAY, accelerated, same_batches


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("odd") / "photos", 9)


def relabeled(root, change):
    folder = torch_sets.image_folder(root)
    folder.samples = [change(number, *sample) for number, sample in enumerate(folder.samples)]
    return folder


@pytest.mark.parametrize("kind", [pathlib.Path, os.fsencode, np.str_], ids=["Path", "bytes", "np"])
def test_paths_may_have_any_type_that_open_accepts(root, kind):
    folder = relabeled(root, lambda _, path, label: (kind(path), label))
    assert same_batches(accelerated(DataLoader(folder, 4)), DataLoader(folder, 4))


def test_datasets_without_sample_pairs_stay_with_torch(root):
    folder = relabeled(root, lambda _, path, label: (path, label, 0))
    report = tundish.accelerate(DataLoader(folder, 4)).report
    assert "not pairs of a path and a label" in str(report)


def test_dot_dot_after_a_link_is_resolved_at_its_target(tmp_path, monkeypatch):
    """here/link/../photos is far/photos, but os.path.abspath() would return here/photos."""
    far = torch_sets.write_folder(tmp_path / "far" / "photos", 6)
    (tmp_path / "far" / "deep").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "far" / "deep")
    shutil.copytree(far, tmp_path / "here" / "photos")
    others = [path for path in (tmp_path / "here" / "photos").rglob("*") if path.is_file()]
    for path in sorted(others)[1:]:  # accelerate() reads the first file
        Image.new("RGB", (30, 30), "red").save(path)
    monkeypatch.chdir(tmp_path / "here")
    folder = datasets.ImageFolder("link/../photos", v2.Compose(FIXED))
    assert same_batches(accelerated(DataLoader(folder, 4)), DataLoader(folder, 4))


@pytest.mark.parametrize("kind", [bool, np.int32, lambda n: torch.tensor(n, dtype=torch.int32)])
def test_labels_of_several_types_stay_with_torch(root, kind):
    """The type of the labels in torch's batch depends on the labels in the batch."""
    folder = relabeled(root, lambda n, path, label: (path, label if n < 4 else kind(label)))
    loader = tundish.accelerate(DataLoader(folder, 4))
    assert "have several types" in str(loader.report)
    assert [labels.dtype for _, labels in loader] == [y.dtype for _, y in DataLoader(folder, 4)]


def test_labels_of_python_and_numpy_are_one_type(root):
    folder = relabeled(root, lambda n, path, label: (path, label if n < 4 else np.int64(label)))
    assert same_batches(accelerated(DataLoader(folder, 4)), DataLoader(folder, 4))


def replaced_loader(path):
    return Image.new("RGB", (30, 30))


@pytest.mark.parametrize(
    ("owner", "name", "replacement"),
    [
        (datasets.DatasetFolder, "__getitem__", lambda self, index: (torch.zeros(3, 16, 16), 0)),
        (datasets.folder, "pil_loader", replaced_loader),
        (datasets.folder, "default_loader", replaced_loader),
        (Subset, "__getitem__", lambda self, index: self.dataset[0]),
        (Subset, "__getitems__", lambda self, indices: [self.dataset[0]] * len(indices)),
    ],
)
def test_a_replaced_function_of_a_library_is_kept(root, monkeypatch, owner, name, replacement):
    monkeypatch.setattr(owner, name, replacement)
    subset = Subset(datasets.ImageFolder(root, v2.Compose(FIXED), replaced_loader), [1, 0])
    if name != "default_loader":
        subset.dataset.loader = datasets.folder.default_loader
    loader = tundish.accelerate(DataLoader(subset, 2))
    assert not loader.report.native
    assert f"{__file__}:{replacement.__code__.co_firstlineno}" in str(loader.report)


def test_any_sequence_of_indices_is_compared_by_value(numbered):
    subset = Subset(numbered, array("q", [0, 1, 2]))
    loader = accelerated(DataLoader(subset, 3))
    list(loader)
    subset.indices[0] = 5
    with pytest.raises(RuntimeError, match=r"dataset\.indices changed"):
        list(loader)


def test_labels_without_an_image_move_no_other_label():
    first, second = (torch_sets.in_memory(datasets.CIFAR10, FIXED, count=4) for _ in range(2))
    first.targets = [*range(4), 9]
    joined = ConcatDataset([first, second])
    assert same_batches(accelerated(DataLoader(joined, 3)), DataLoader(joined, 3))
    second.targets = second.targets[:3]
    loader = tundish.accelerate(DataLoader(joined, 3))
    assert "has more images than labels" in str(loader.report)


# --- indices -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbered():
    dataset = torch_sets.in_memory(datasets.MNIST, GRAY, count=8)
    dataset.targets = torch.arange(8)
    return dataset


def test_a_mask_given_to_a_subset_sampler_is_read_like_torch(numbered):
    """torch treats True as index 1."""
    mask = [True, False, True, False, True, False, True, True]
    loader = accelerated(DataLoader(numbered, 8, sampler=SubsetRandomSampler(mask)))
    assert [sorted(labels.tolist()) for _, labels in loader] == [[0, 0, 0, 1, 1, 1, 1, 1]]


@pytest.mark.parametrize("index", [8, -9])
def test_an_index_out_of_range_is_torchs_error(numbered, index):
    loader = tundish.accelerate(DataLoader(Subset(numbered, [3, index]), 1))
    assert "an index of Subset is out of range" in str(loader.report)
    with pytest.raises(IndexError):
        list(loader)
    with pytest.raises(IndexError):
        list(tundish.accelerate(DataLoader(numbered, 1, sampler=SubsetRandomSampler([3, index]))))


@pytest.mark.parametrize("indices", [[7, -8], np.array([0, 7], np.uint64), np.array([-8], np.int8)])
def test_the_first_and_the_last_index_are_in_range(numbered, indices):
    subset = Subset(numbered, indices)
    assert same_batches(accelerated(DataLoader(subset, 2)), DataLoader(subset, 2))


# --- DataLoaders ---------------------------------------------------------------------------------


class OwnIndices(DataLoader):
    @property
    def _index_sampler(self):
        return [[5, 1], [2]]


class OwnIterator(DataLoader):
    def _get_iterator(self):
        return iter([1, 2, 3])


@pytest.mark.parametrize("kind", [OwnIndices, OwnIterator])
def test_a_data_loader_that_overrides_its_iteration_is_kept(numbered, kind):
    loader = tundish.accelerate(kind(numbered, 4))
    assert f"{kind.__name__} overrides _" in str(loader.report)
    assert len(list(loader)) == len(list(kind(numbered, 4)))


class Labeled:
    """Resembles a shuffled pandas.Series: indexed by a label, iterated by position."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values[:1] + self.values[:0:-1])

    def __getitem__(self, index):
        return self.values[index]

    def __array__(self, *_, **__):
        return np.array(list(self))

    def copy(self):
        return Labeled(self.values)

    def __eq__(self, other):
        return self.values == other.values

    __hash__ = None


def test_sequences_are_read_by_index_as_in_torch(numbered):
    subset = DataLoader(Subset(numbered, Labeled([4, 1, 2, 3])), 2)
    assert same_batches(accelerated(subset), subset)
    labels = torch_sets.in_memory(datasets.CIFAR10, FIXED, 5)
    labels.targets = Labeled([7, 1, 2, 3, 4])
    theirs = DataLoader(labels, 2)
    assert same_batches(accelerated(theirs), theirs)
