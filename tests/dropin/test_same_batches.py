"""tundish.accelerate gives the same batches as the original DataLoader."""

import pytest
import timm
import torch
import tundish
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, SequentialSampler, Subset
from torchvision import datasets, transforms
from torchvision.transforms import v2

from tests.helpers import torch_sets
from tests.helpers.torch_sets import FIXED, GRAY, RANDOM, accelerated, same_batches


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("dropin") / "photos")


def known_sets(folder):
    return {
        "ImageFolder": torch_sets.image_folder(folder),
        "ImageNet": torch_sets.image_net(folder),
        "CIFAR10": torch_sets.in_memory(datasets.CIFAR10, FIXED),
        "CIFAR100": torch_sets.in_memory(datasets.CIFAR100, FIXED),
        "MNIST": torch_sets.in_memory(datasets.MNIST, GRAY),
        "FashionMNIST": torch_sets.in_memory(datasets.FashionMNIST, GRAY),
    }


NAMES = ["ImageFolder", "ImageNet", "CIFAR10", "CIFAR100", "MNIST", "FashionMNIST"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("drop_last", [False, True])
def test_known_sets_give_torchs_batches(folder, name, drop_last):
    theirs = DataLoader(known_sets(folder)[name], 4, drop_last=drop_last)
    ours = accelerated(theirs, prove_batches=2)
    assert same_batches(ours, theirs)
    assert same_batches(ours, theirs), "the second epoch"
    assert "equal values" in ours.report.proof


def test_arrays_in_memory_take_no_disk_cache(folder, tmp_path):
    theirs = DataLoader(known_sets(folder)["CIFAR10"], 4)
    ours = accelerated(theirs, cache_dir=str(tmp_path / "cache"), cache_dir_limit="1GiB")
    assert same_batches(ours, theirs)
    assert "cache_dir is not used: the arrays are in memory" in str(ours.report)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["ImageFolder", "CIFAR10", "MNIST"])
def test_wrappers_give_torchs_batches(folder, name):
    whole = known_sets(folder)[name]
    part = Subset(whole, [7, 3, 3, 0, -1, 12, 3])
    several = ConcatDataset([part, whole, Subset(part, torch.tensor([1, 5]))])
    for dataset in (part, several, Subset(several, range(4, 24, 2))):
        theirs = DataLoader(dataset, 5)
        assert same_batches(accelerated(theirs), theirs)


def test_a_concatenation_of_two_folders_gives_torchs_batches(folder, tmp_path):
    other = torch_sets.write_folder(tmp_path / "more", count=8)
    theirs = DataLoader(
        ConcatDataset([torch_sets.image_folder(folder), torch_sets.image_folder(other)]), 7
    )
    assert same_batches(accelerated(theirs), theirs)


@pytest.mark.parametrize(
    "steps",
    [
        [transforms.Resize((20, 20)), transforms.ToTensor()],
        [transforms.Resize(30), transforms.CenterCrop(20), transforms.PILToTensor()],
        [v2.CenterCrop(24), v2.ToImage(), v2.ToDtype(torch.float16, scale=True)],
    ],
    ids=["ToTensor", "levels", "float16"],
)
def test_different_final_transforms_give_torchs_batches(folder, steps):
    theirs = DataLoader(torch_sets.image_folder(folder, steps), 4)
    assert same_batches(accelerated(theirs), theirs)


@pytest.mark.parametrize("std", [[1 / 255] * 3, [0.001] * 3, [1 / 255, 0.2, 1]], ids=str)
def test_values_may_be_normalized_to_levels(folder, std):
    """ToTensor divides by 255, and a small std makes its rounding as large."""
    means = [103.939 / 255, 116.779 / 255, 123.68 / 255]
    steps = [transforms.Resize((20, 20)), transforms.ToTensor(), transforms.Normalize(means, std)]
    theirs = DataLoader(torch_sets.image_folder(folder, steps), 4)
    for ours, expected in zip(accelerated(theirs, prove_batches=3), theirs, strict=True):
        scale = torch.tensor(std)[:, None, None]
        assert torch.allclose(ours[0] * scale, expected[0] * scale, rtol=0, atol=2e-7)


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # timm relies on Python's collector to close files
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_timm_loader_gives_the_same_batches(folder):
    dataset = timm.data.create_dataset("", folder)
    theirs = timm.data.create_loader(
        dataset, (3, 32, 32), 4, crop_pct=0.9, use_prefetcher=False, num_workers=1
    )
    ours = accelerated(theirs, prove_batches=2)
    assert same_batches(ours, theirs)
    assert "ImageDataset" in str(ours.report)
    train = timm.data.create_loader(
        dataset,
        *((3, 32, 32), 4),
        is_training=True,
        auto_augment="rand-m9-mstd0.5-inc1",
        re_prob=0.25,
        use_prefetcher=False,
    )
    labels = [label for _, batch in accelerated(train) for label in batch.tolist()]
    assert len(labels) == 20, "drop_last"


def test_a_torch_batch_sampler_gives_the_same_batches(folder):
    dataset = torch_sets.image_folder(folder)
    theirs = DataLoader(dataset, batch_sampler=BatchSampler(SequentialSampler(dataset), 3, True))
    assert same_batches(accelerated(theirs), theirs)


def test_images_of_different_sizes_work_with_batch_size_1(folder):
    theirs = DataLoader(torch_sets.image_folder(folder, FIXED[2:4]))
    assert same_batches(accelerated(theirs), theirs)


def test_a_file_may_be_listed_several_times_without_a_warning(folder):
    dataset = torch_sets.image_folder(folder)
    dataset.samples = [*dataset.samples[:3], *dataset.samples[:5]]
    theirs = DataLoader(dataset, 4)
    assert same_batches(accelerated(theirs), theirs)


def test_changed_samples_and_labels_of_a_dataset_are_used(folder):
    files = torch_sets.image_folder(folder)
    files.samples = [(path, 5 - label) for path, label in files.samples[::2]]
    arrays = torch_sets.in_memory(datasets.CIFAR10, FIXED)
    arrays.data = 255 - arrays.data
    arrays.targets = [9 - label for label in arrays.targets]
    for dataset in (files, arrays):
        theirs = DataLoader(dataset, 4)
        assert same_batches(accelerated(theirs), theirs)


def test_random_transforms_have_torchs_shapes_and_types(folder):
    theirs = DataLoader(torch_sets.image_folder(folder, RANDOM), 4)
    ours = accelerated(theirs, prove_batches=2)
    for one, other in zip(ours, theirs, strict=True):
        assert one[0].shape == other[0].shape
        assert one[0].dtype == other[0].dtype
        assert torch.equal(one[1], other[1])
    assert "random" in ours.report.proof
    assert not torch.equal(next(iter(ours))[0], next(iter(ours))[0]), "two epochs"


def test_inspecting_a_loader_draws_no_random_numbers(folder):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    ours = accelerated(DataLoader(torch_sets.image_folder(folder, RANDOM), 4), prove_batches=1)
    assert torch.equal(torch.rand(3), expected)
    first = next(iter(ours))[0]
    torch.manual_seed(5)
    again = accelerated(DataLoader(torch_sets.image_folder(folder, RANDOM), 4))
    assert torch.equal(next(iter(again))[0], first), "the seed comes from torch.manual_seed"


def test_the_result_has_the_interface_of_the_loader(folder):
    theirs = DataLoader(torch_sets.image_folder(folder), 4, drop_last=True, num_workers=1)
    ours = accelerated(theirs)
    assert (len(ours), ours.batch_size, ours.drop_last, ours.num_workers) == (5, 4, True, 1)
    assert ours.dataset is theirs.dataset
    assert ours.sampler is theirs.sampler
    assert ours.batch_sampler is theirs.batch_sampler
    assert tundish.accelerate(ours) is ours
    assert not hasattr(ours, "no_such_thing")
    assert len(iter(ours)) == len(iter(accelerated(theirs, order_from="sampler"))) == 5
    list(ours)
    assert ours.stats()["data/samples"] == 20


def test_a_bad_sample_ends_the_loop_as_torchs_does(tmp_path):
    root = torch_sets.write_folder(tmp_path / "photos", 8)
    dataset = torch_sets.image_folder(root)
    with open(dataset.samples[6][0], "wb") as file:
        file.write(b"no image")
    with pytest.raises(tundish.SampleError, match="c2/002"):
        list(accelerated(DataLoader(dataset, 2)))
    loader = accelerated(DataLoader(dataset, 2), on_error="skip")
    with pytest.warns(UserWarning, match="bad sample"):
        assert sum(len(labels) for _, labels in loader) == 7
    assert len(loader.bad_samples()) == 1


@pytest.mark.parametrize("bad", [[0], [0, 1, 2], [5]], ids=str)
@pytest.mark.parametrize("on_error", ["skip", "substitute"])
@pytest.mark.filterwarnings("ignore:.*bad sample")
def test_bad_images_are_left_out_wherever_they_are(tmp_path, bad, on_error):
    dataset = torch_sets.image_folder(torch_sets.write_folder(tmp_path / "photos", 8))
    for number in bad:
        with open(dataset.samples[number][0], "wb") as file:
            file.write(b"no image")
    loader = accelerated(DataLoader(dataset, 2), on_error=on_error, prove_batches=2)
    images = torch.cat([images for images, _ in loader])
    good = [dataset[n][0] for n in range(8) if n not in bad]
    assert len(images) == (8 if on_error == "substitute" else len(good))
    for image in images:
        assert any(torch.allclose(image, other, rtol=0, atol=1e-5) for other in good)


def test_a_dataset_without_a_good_image_is_kept(tmp_path):
    dataset = torch_sets.image_folder(torch_sets.write_folder(tmp_path / "photos", 4))
    for path, _ in dataset.samples:
        with open(path, "wb") as file:
            file.write(b"no image")
    loader = tundish.accelerate(DataLoader(dataset, 2), on_error="skip")
    assert "the engine refuses: TND-401" in str(loader.report)
