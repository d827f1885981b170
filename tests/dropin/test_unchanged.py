"""Changes after tundish.accelerate raise an error instead of silently changing the data."""

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Subset,
    WeightedRandomSampler,
    default_collate,
)
from torch.utils.flop_counter import FlopCounterMode
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


def test_a_changed_loader_can_be_accelerated_again():
    loader = make()
    assert tundish.accelerate(loader) is loader
    other_labels(loader)
    with pytest.raises(RuntimeError, match="again"):
        iter(loader)
    again = tundish.accelerate(loader)
    assert again.report.native
    assert [labels.tolist() for _, labels in again] == [[0, 0, 0]] * 3


def test_changed_weights_are_an_error():
    sampler = WeightedRandomSampler([1.0] * 9, 9)
    loader = make(sampler)
    assert len(list(loader)) == 3
    sampler.weights[2] = 0
    with pytest.raises(RuntimeError, match=r"sampler\.weights changed"):
        iter(loader)


def test_changes_made_by_a_normal_run_are_allowed():
    sampler = DistributedSampler(range(9), 2, 0)
    loader = make(sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        torch.manual_seed(epoch)
        assert len(list(loader)) == 2


# --- files, subsets and concatenations -----------------------------------------------------------


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("unchanged") / "photos", 9)


def raises_after(change, dataset, match, **options):
    """Applies `change` after one epoch and expects an error. Returns the loader."""
    loader = accelerated(DataLoader(dataset, 3, **options))
    list(loader)
    list(loader)  # no error before the change
    change(dataset)
    with pytest.raises(RuntimeError, match=f"{match}.* changed after .* again"):
        iter(loader)
    return loader


def append_index(subset):
    subset.indices.append(5)


def set_index(subset):
    subset.indices[0] = 5


def replace_indices(subset):
    subset.indices = [4, 5, 6]


def replace_loader(folder):
    folder.loader = lambda path: Image.new("RGB", (8, 8))


def replace_sample(folder):
    folder.samples[2] = folder.samples[3]


def append_sample(folder):
    folder.samples.append(folder.samples[0])


def replace_samples(folder):
    folder.samples = folder.samples[::-1]


def set_class(folder):
    folder.__class__ = type("Other", (datasets.ImageFolder,), {"__getitem__": lambda *_: None})


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    "change", [append_index, set_index, replace_indices], ids=lambda one: one.__name__
)
def test_changed_indices_of_a_subset_are_an_error(root, change, shuffle):
    subset = Subset(torch_sets.image_folder(root), [0, 1, 2])
    raises_after(change, subset, r"dataset\.indices", shuffle=shuffle)


@pytest.mark.parametrize("make", [np.array, torch.tensor], ids=["array", "tensor"])
@pytest.mark.parametrize("change", [set_index, replace_indices], ids=lambda one: one.__name__)
def test_changed_indices_in_an_array_are_an_error(root, make, change):
    subset = Subset(torch_sets.image_folder(root), make([0, 1, 2]))
    raises_after(change, subset, r"dataset\.indices")


@pytest.mark.parametrize("make", [np.array, torch.tensor], ids=["array", "tensor"])
def test_fewer_equal_indices_are_an_error(root, make):
    """NumPy and torch would broadcast a single index."""
    subset = Subset(torch_sets.image_folder(root), make([2, 2, 2]))
    raises_after(lambda s: setattr(s, "indices", make([2])), subset, r"dataset\.indices")


def test_replacing_the_dataset_of_a_subset_is_an_error(root):
    subset = Subset(torch_sets.image_folder(root), [0, 1, 2])
    other = torch_sets.image_folder(root)
    raises_after(lambda s: setattr(s, "dataset", other), subset, r"dataset\.dataset")


def test_replacing_datasets_of_a_concatenation_is_an_error(root):
    folder = torch_sets.image_folder(root)

    def make():
        return ConcatDataset([Subset(folder, [0]), Subset(folder, [1])])

    def replace(concat):
        concat.datasets = [Subset(folder, [5]), Subset(folder, [4])]

    raises_after(replace, make(), r"dataset\.datasets\[0\]")
    raises_after(lambda c: c.datasets.reverse(), make(), r"dataset\.datasets\[0\]")
    raises_after(lambda c: c.datasets.append(folder), make(), r"len\(dataset\.datasets\)")
    raises_after(lambda c: c.cumulative_sizes.pop(), make(), r"dataset\.cumulative_sizes")
    raises_after(lambda c: c.datasets[1].indices.append(3), make(), r"dataset\.datasets\[1\]\.ind")


def test_a_concatenation_that_was_changed_before_is_kept(root):
    concat = ConcatDataset([Subset(torch_sets.image_folder(root), [0, 1]), Subset(range(9), [1])])
    concat.datasets[1] = Subset(concat.datasets[0].dataset, [3, 4, 5])
    report = str(tundish.accelerate(DataLoader(concat, 2)).report)
    assert "the datasets of ConcatDataset were changed after it was made" in report


FOLDER_CHANGES = {
    replace_loader: r"dataset\.loader",
    replace_sample: r"dataset\.samples",
    append_sample: r"dataset\.samples",
    replace_samples: r"dataset\.samples",
    set_class: r"dataset\.__getitem__",
}


@pytest.mark.parametrize("change", FOLDER_CHANGES, ids=lambda one: one.__name__)
def test_a_changed_folder_is_an_error(root, change):
    raises_after(change, torch_sets.image_folder(root), FOLDER_CHANGES[change])
    own = torch_sets.OwnSampler(9)
    raises_after(change, torch_sets.image_folder(root), FOLDER_CHANGES[change], sampler=own)


def test_samples_that_are_lists_are_compared_by_value(root):
    folder = torch_sets.image_folder(root)
    folder.samples = [list(sample) for sample in folder.samples]

    def relabel(folder):
        folder.samples[4][1] = 2

    raises_after(relabel, folder, r"dataset\.samples")


def test_attributes_that_no_sample_depends_on_may_change(root):
    folder = torch_sets.image_folder(root)
    loader = accelerated(DataLoader(folder, 3))
    before = [labels.tolist() for _, labels in loader]
    folder.targets, folder.class_to_idx = [0] * 9, {}
    assert [labels.tolist() for _, labels in loader] == before


def test_torchs_counter_of_operations_may_run_around_an_epoch(root):
    """Its hooks for all modules only observe."""
    loader = accelerated(DataLoader(torch_sets.image_folder(root), 3))
    model = torch.nn.Conv2d(3, 2, 3)
    with FlopCounterMode(display=False) as counter:
        for images, _ in loader:
            model(images)
    assert counter.get_total_flops() > 0


def test_a_hook_for_all_modules_is_named_as_the_change(root):
    loader = accelerated(DataLoader(torch_sets.image_folder(root), 3))
    list(loader)
    hook = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        with pytest.raises(RuntimeError, match=r"a hook is registered for all modules.* changed"):
            iter(loader)
    finally:
        hook.remove()
    assert len(list(loader)) == 3


@pytest.mark.parametrize("kind", [datasets.MNIST, datasets.CIFAR10])
def test_pixels_and_labels_that_are_changed_in_place_are_an_error(kind):
    steps = torch_sets.GRAY if kind is datasets.MNIST else FIXED
    match = {"data": r"dataset\.data", "targets": r"dataset\.targets"}

    def swap_images(dataset):
        dataset.data[[2, 3]] = dataset.data[[3, 2]]

    def set_label(dataset):
        dataset.targets[3] = 11

    raises_after(swap_images, torch_sets.in_memory(kind, steps, 9), match["data"])
    raises_after(set_label, torch_sets.in_memory(kind, steps, 9), match["targets"])


# --- the DataLoader and its samplers -------------------------------------------------------------


def double(batch):
    return [2 * part for part in default_collate(batch)]


def test_replacing_collate_fn_is_an_error():
    loader = make()
    loader.collate_fn = double
    assert loader._dataloader.collate_fn is double, "set in the DataLoader"
    with pytest.raises(RuntimeError, match=r"collate_fn is Python\) changed after .* again"):
        iter(loader)


@pytest.mark.parametrize("name", ["batch_size", "sampler", "dataset", "drop_last"])
def test_attributes_that_torch_protects_cannot_be_set(name):
    for loader in (make(), tundish.accelerate(DataLoader(torch_sets.OwnSet(), 3))):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
            setattr(loader, name, None)
        loader.my_own = 3
        assert loader.my_own == 3
        assert not hasattr(loader._dataloader, "my_own")


def test_a_collate_fn_set_later_is_used_where_torchs_code_stays():
    loader = tundish.accelerate(DataLoader(Numbers(), 3, num_workers=1))
    loader.collate_fn = double
    assert [batch[0].tolist() for batch in loader] == [[0, 2, 4]]


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return (index,)


def test_replacing_the_sampler_of_the_batch_sampler_is_an_error():
    for sampler in (None, torch_sets.OwnSampler(9)):
        loader = make(sampler)
        list(loader)
        loader.batch_sampler.sampler = range(4)
        with pytest.raises(RuntimeError, match=r"batch_sampler\.sampler changed"):
            iter(loader)


def test_a_longer_data_source_of_the_sampler_is_an_error():
    source = list(range(9))
    loader = make(RandomSampler(source))
    list(loader)
    source.append(9)
    with pytest.raises(RuntimeError, match=r"len\(sampler\.data_source\) changed"):
        iter(loader)


@pytest.mark.parametrize("other", [[1, 2, 3], torch_sets.OwnSet()], ids=["list", "own set"])
def test_an_unknown_data_set_in_a_subset_is_an_error(root, other):
    subset = Subset(torch_sets.image_folder(root), [0, 1, 2])
    raises_after(lambda s: setattr(s, "dataset", other), subset, r"dataset\.dataset")
