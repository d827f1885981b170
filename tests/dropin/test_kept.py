"""DataLoaders that tundish.accelerate leaves to torch: reason, line, unchanged batches."""

import logging
import math
import pickle
import re
from functools import partial
from pathlib import Path

import pytest
import torch
import tundish
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, default_collate
from torchvision import datasets
from torchvision.transforms import v2
from tundish import transforms as T
from tundish.dropin.proof import allowed_difference

from tests.helpers import torch_sets
from tests.helpers.torch_sets import FIXED, GRAY, RANDOM, OwnSet, OwnStream

HERE = Path(__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("kept") / "photos", 8)


def line_of(text):
    """Returns the number of the first line of this file that contains the text."""
    lines = HERE.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def own_collate(samples):
    return default_collate(samples)


def own_init(worker):
    torch.manual_seed(worker)


def brighter(image):
    return image


class OwnFolder(datasets.ImageFolder):
    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return image, label + 1


class OwnStep(torch.nn.Module):
    def forward(self, image):
        return image


class OwnList:
    """Resembles Compose but applies its transforms in reverse."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for step in reversed(self.transforms):
            image = step(image)
        return image


class OwnBatches(torch_sets.OwnSampler):
    def __iter__(self):
        yield from [[0, 1], [2]]


class OwnLoader(DataLoader):
    def __iter__(self):
        return iter([1, 2, 3])


def of_set(**changed):
    def make(folder):
        dataset = torch_sets.image_folder(folder)
        for name, value in changed.items():
            setattr(dataset, name, value)
        return DataLoader(dataset, 2)

    return make


def of_steps(*steps):
    return lambda folder: DataLoader(torch_sets.image_folder(folder, list(steps)), 2)


def of_loader(**options):
    return lambda folder: DataLoader(
        torch_sets.image_folder(folder), **{"batch_size": 2, **options}
    )


def mixed(folder):
    parts = [torch_sets.image_folder(folder), torch_sets.image_folder(folder, RANDOM)]
    return DataLoader(ConcatDataset(parts), 2)


def gray_and_color(_):
    parts = [
        torch_sets.in_memory(datasets.CIFAR10, FIXED),
        torch_sets.in_memory(datasets.MNIST, GRAY),
    ]
    return DataLoader(ConcatDataset(parts), 2)


# Name: how to create the loader, part of the reason, and text of the line that the reason names.
KEPT = {
    "own set": (lambda _: DataLoader(OwnSet(), 4), "OwnSet is a custom dataset", None),
    "own getitem": (
        lambda folder: DataLoader(OwnFolder(folder, v2.Compose(FIXED)), 2),
        "overrides __getitem__ of ImageFolder",
        "def __getitem__",
    ),
    "target_transform": (of_set(target_transform=brighter), "target_transform", "def brighter"),
    "loader": (of_set(loader=brighter), "custom loader=", "def brighter"),
    "no transform": (of_set(transform=None), "no transform", None),
    "lambda": (of_steps(v2.Lambda(brighter), *FIXED), "brighter is Python", "def brighter"),
    "partial": (of_steps(partial(brighter), *FIXED), "is Python", "def brighter"),
    "module": (of_steps(*FIXED, OwnStep()), "OwnStep is Python", "def forward"),
    "own list": (of_steps(OwnList(FIXED)), "OwnList is Python", "def __call__"),
    "after a tensor": (of_steps(*FIXED[2:4], v2.Resize(8)), "applies it to a tensor", None),
    "PIL images": (of_steps(v2.Resize((8, 8))), "torch itself fails at sample 0", None),
    "different transforms": (mixed, "different transforms", None),
    "grays and colors": (gray_and_color, "colors and grays", None),
    "collate_fn": (of_loader(collate_fn=own_collate), "collate_fn is Python", "def own_collate"),
    "worker_init_fn": (
        of_loader(worker_init_fn=own_init, num_workers=1),
        "worker_init_fn",
        "def own_init",
    ),
    "batch_size=None": (of_loader(batch_size=None), "batch_size=None", None),
    "batch sampler": (
        lambda folder: DataLoader(torch_sets.image_folder(folder), batch_sampler=OwnBatches(3)),
        "OwnBatches makes its own batches",
        "class OwnBatches",
    ),
    "stream": (lambda _: DataLoader(OwnStream(), 4), "IterableDataset", None),
    "own loader": (
        lambda folder: OwnLoader(torch_sets.image_folder(folder), 2),
        "OwnLoader overrides __iter__",
        "class OwnLoader",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_each_reason_is_named_with_its_line(folder, name, caplog):
    make, what, line = KEPT[name]
    with caplog.at_level(logging.WARNING, "tundish"):
        loader = tundish.accelerate(make(folder))
    assert not loader.report.native
    reasons = loader.report.reasons
    assert any(what in reason.what for reason in reasons), str(loader.report)
    assert all(reason.instead for reason in reasons)
    if line is not None:
        number = line_of(line) + (line.startswith("class"))
        assert f"{HERE}:{number}" in [reason.where for reason in reasons]
        assert f"{HERE}:{number}" in caplog.text
    assert what in str(loader.report)


def test_every_step_of_the_users_is_named(folder):
    loader = tundish.accelerate(of_steps(v2.Lambda(brighter), *FIXED, OwnStep())(folder))
    assert len(loader.report.reasons) == 2


def test_a_worker_init_fn_without_workers_changes_nothing(folder):
    assert tundish.accelerate(of_loader(worker_init_fn=own_init)(folder)).report.native


def test_seeds_of_workers_change_nothing(folder):
    seeds = tundish.seed_everything(0)
    options = {"num_workers": 2, "generator": seeds.generator}
    loader = of_loader(worker_init_fn=seeds.worker_init_fn, **options)(folder)
    seeds.undo()
    assert tundish.accelerate(loader).report.native


@pytest.mark.parametrize("workers", [0, 2])
def test_kept_datasets_give_torchs_batches(workers):
    options = {"num_workers": workers, "persistent_workers": workers > 0}
    theirs = DataLoader(OwnSet(), 4, shuffle=True, **options)
    same = DataLoader(OwnSet(), 4, shuffle=True, **options)
    ours = tundish.accelerate(same)
    for _ in range(2):
        torch.manual_seed(1)
        expected = list(theirs)
        torch.manual_seed(1)
        for (one, index), (other, expected_index) in zip(ours, expected, strict=True):
            assert one["name"] == other["name"]
            assert torch.equal(one["x"], other["x"])
            assert torch.equal(index, expected_index)
    assert ours.stats()["data/batches"] == 12
    assert 0 <= ours.stats(reset=True)["data/wait_share"] <= 1
    assert (len(ours), ours.batch_size, ours.dataset) == (6, 4, same.dataset)
    assert not hasattr(ours, "state_dict")


def test_the_length_of_a_stream_raises_torchs_error():
    with pytest.raises(TypeError):
        len(tundish.accelerate(DataLoader(OwnStream(), 4)))


def test_a_state_exists_if_the_loader_has_one():
    class Stateful(DataLoader):
        def state_dict(self):
            return {"step": 3}

    assert tundish.accelerate(Stateful(OwnSet(), 4)).state_dict() == {"step": 3}


def test_kept_loaders_pickle_as_torchs_do():
    loader = pickle.loads(pickle.dumps(tundish.accelerate(DataLoader(OwnSet(), 4))))
    assert not loader.report.native
    assert next(index.tolist() for _, index in loader) == [0, 1, 2, 3]


def test_an_object_that_is_not_a_loader_is_refused():
    with pytest.raises(TypeError, match="takes a torch DataLoader, not list"):
        tundish.accelerate([1, 2])
    with pytest.raises(TypeError, match="no argument 'batch_size'"):
        tundish.accelerate(DataLoader(OwnSet(), 4), batch_size=3)
    with pytest.raises(TypeError, match="takes a torch DataLoader, not NoneType"):
        tundish.accelerate(None)
    with pytest.raises(ValueError, match="order_from must be"):
        tundish.accelerate(DataLoader(OwnSet(), 4), order_from="random")


WRONG = [
    {"threads": -1},
    {"memory": "12X"},
    {"cache": "some"},
    {"prove_batches": -1},
    {"prove_batches": 1.5},
]
WRONG += [{"prove_batches": "x"}, {"seed": 1.5}, {"seed": "1"}]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_an_invalid_option_raises_an_error(folder, wrong):
    with pytest.raises((tundish.ArgumentError, ValueError)):
        tundish.accelerate(of_loader()(folder), **wrong)


@pytest.mark.parametrize("options", [{}, {"threads": 1}, {"cache": "encoded"}], ids=str)
def test_a_first_image_that_only_torch_reads_is_kept(tmp_path, options):
    """A TIFF file named as another format; Pillow detects the format from the bytes."""
    torch_sets.write_folder(tmp_path, 4)
    first = datasets.ImageFolder(tmp_path).samples[0][0]
    Image.open(first).convert("RGB").save(first, "TIFF")
    loader = tundish.accelerate(of_loader()(tmp_path), **options)
    assert "the engine refuses: TND-402" in str(loader.report)
    assert len(list(loader)) == 2


def test_the_report_says_that_cut_off_images_are_bad(folder, monkeypatch):
    text = "LOAD_TRUNCATED_IMAGES has no effect"
    cifar = DataLoader(torch_sets.in_memory(datasets.CIFAR10, FIXED))
    assert text not in str(tundish.accelerate(of_loader()(folder)).report)
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)
    assert text in str(tundish.accelerate(of_loader()(folder)).report)
    assert text not in str(tundish.accelerate(cifar).report)


def test_a_failed_proof_keeps_torchs_code(folder, monkeypatch):
    from tundish.dropin import accelerate as module

    monkeypatch.setattr(
        module,
        "translate",
        lambda _: [tundish.transforms.Resize((16, 16)), tundish.transforms.Normalize()],
    )
    loader = tundish.accelerate(of_loader()(folder))
    assert not loader.report.native
    assert "differs by" in loader.report.reasons[0].what


def test_allowed_differences_follow_pillow_and_the_values(monkeypatch):
    resize, levels = T.Resize((16, 16)), T.ToDtype("float32", True)
    normalize = T.Normalize((0.5, 0.5, 0.5), (0.5, 0.25, 0.5))
    monkeypatch.setattr("PIL.__version__", "12.3.0")
    assert allowed_difference([resize]) == 0
    assert allowed_difference([resize, normalize]) == 1e-5
    assert allowed_difference([T.RandomHorizontalFlip()]) is None
    monkeypatch.setattr("PIL.__version__", "13.0.0")
    assert allowed_difference([resize]) == 1
    assert allowed_difference([resize, levels]) == pytest.approx(1 / 255, rel=0.01)
    assert allowed_difference([resize, normalize]) == pytest.approx(4 / 255, rel=0.01)


@pytest.mark.parametrize("kind", ["kept", "native"])
def test_statistics_are_accepted_by_tensorboard_and_wandb(kind):
    own = OwnSet() if kind == "kept" else torch_sets.in_memory(datasets.CIFAR10, FIXED)
    loader = tundish.accelerate(DataLoader(own, 4))
    assert loader.report.native == (kind == "native")
    batches = sum(1 for _ in loader)
    stats = loader.stats(reset=True)
    assert stats["data/batches"] == batches
    for name, value in stats.items():
        assert re.fullmatch(r"data/[a-z0-9_/]+", name), "one group of charts"
        assert type(value) in (int, float), name
        assert math.isfinite(value), name


@pytest.mark.parametrize("prove", [0, None, True, 3])
def test_a_number_of_batches_to_prove_is_accepted(folder, prove):
    loader = tundish.accelerate(of_loader()(folder), prove_batches=prove)
    assert loader.report.native
    assert bool(loader.report.proof) == bool(prove)


def test_a_dataset_with_unusual_attributes_is_kept(folder):
    dataset = torch_sets.image_folder(folder)
    dataset.root = None
    loader = tundish.accelerate(DataLoader(dataset, 4))
    assert "ImageFolder has unusual attributes: TypeError" in str(loader.report)
    assert sum(len(labels) for _, labels in loader) == 8
