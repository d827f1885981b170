"""Label vectors: columns label:NAME of a list, packs, and Loader(labels=2-D array)."""

import csv

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.program import needs_program
from tests.helpers.program import tundish as run
from tests.helpers.torchvision_child import ask_torchvision

CLASSES = ["cat", "dog", "night, late"]
SMALL = [T.CenterCrop(8)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A list with label vectors, and its labels."""
    folder = tmp_path_factory.mktemp("vectors")
    random = np.random.default_rng(4)
    labels = random.integers(0, 2, (10, 3)).astype(np.float32)
    labels[3] = [0.25, -1.5, 1e-3]
    with open(folder / "list.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["label:cat", "path", "label:dog", "note", " label: night, late"])
        for number, (cat, dog, night) in enumerate(labels.tolist()):
            name = f"{number}.{'jpg' if number % 2 else 'png'}"
            Image.fromarray(random.integers(0, 256, (8, 8, 3), np.uint8)).save(folder / name)
            rows.writerow([cat, name, dog, f"note {number}", night])
    tundish.pack(folder / "list.csv", folder / "set.tnd")
    return folder, labels


def loader(path, **options):
    options = {"batch_size": 4, "shuffle": True, "seed": 2, "return_index": True} | options
    return tundish.Loader(path, transforms=options.pop("transforms", SMALL), **options)


@pytest.mark.parametrize("name", ["list.csv", "set.tnd"])
@pytest.mark.parametrize(
    "options", [{}, {"backend": "numpy"}, {"cache": "decoded", "memory": "64MiB"}], ids=str
)
def test_batches_have_the_rows_of_the_list(made, name, options):
    folder, expected = made
    with loader(folder / name, **options) as batches:
        assert batches.classes == CLASSES
        for _ in range(2):
            for images, labels, samples in batches:
                assert tuple(labels.shape) == (len(images), 3)
                assert str(labels.dtype).endswith("float32")
                assert np.array_equal(np.asarray(labels), expected[np.asarray(samples)])


def test_vectors_are_the_label_of_a_dict_and_arrays_in_a_dataset(made):
    folder, expected = made
    for name in ("list.csv", "set.tnd"):
        for batch in loader(folder / name, as_dict=True):
            assert set(batch) == {"image", "label", "note", "index"}
            assert np.array_equal(batch["label"].numpy(), expected[batch["index"].numpy()])
        dataset = tundish.Dataset(folder / name)
        assert np.array_equal(np.stack([label for _, label in dataset]), expected)
        with pytest.raises(ValueError, match="are vectors"):
            _ = dataset.targets


def test_labels_may_be_given_as_a_2d_array(made):
    folder, _ = made
    given = np.random.default_rng(1).normal(size=(10, 5))
    for labels in (given, torch.from_numpy(given), given.tolist()):
        for _, batch, samples in loader(folder / "set.tnd", labels=labels):
            assert np.array_equal(batch.numpy(), given.astype(np.float32)[samples.numpy()])
    for batch in loader(folder / "set.tnd", labels=given > 0, as_dict=True):
        assert batch["label"].shape[1] == 5
    for _, batch, samples in loader(folder / "set.tnd", labels=range(10)):
        assert batch.dtype == torch.int64
        assert torch.equal(batch, samples)


def test_class_names_are_kept_only_if_they_fit_the_given_labels(made):
    folder, given = made
    pack = folder / "set.tnd"
    assert loader(pack).classes == CLASSES
    assert loader(pack, labels=given).classes == CLASSES
    assert loader(pack, labels=given[:, :2]).classes == []  # two columns, which are not the classes
    assert loader(pack, labels=[2] * 10).classes == CLASSES
    assert loader(pack, labels=[-1] * 9 + [3]).classes == []


def test_ranks_threads_and_a_resume_change_nothing(made):
    folder, expected = made
    whole = [(labels, samples) for _, labels, samples in loader(folder / "set.tnd", threads=1)]
    for rank in range(2):
        part = loader(folder / "set.tnd", batch_size=2, rank=rank, world_size=2, threads=3)
        for (labels, samples), (_, mine, own) in zip(whole, part, strict=True):
            share = len(samples) // 2
            assert torch.equal(own, samples[rank * share :][:share])
            assert torch.equal(mine, labels[rank * share :][:share])
    first = loader(folder / "set.tnd")
    next(iter(first))
    again = loader(folder / "set.tnd")
    again.load_state_dict(first.state_dict())
    for _, labels, samples in again:
        assert np.array_equal(labels.numpy(), expected[samples.numpy()])


@pytest.mark.parametrize("mixing", ["MixUp(alpha=0.7)", "CutMix(alpha=0.7)"])
def test_vectors_are_mixed_as_torchvision_mixes_2d_labels(made, tmp_path, mixing):
    folder, expected = made
    transforms = [*SMALL, T.ToDtype("float32", scale=True), eval("T." + mixing)]
    for images, labels, samples in loader(folder / "set.tnd", transforms=transforms, uneven="drop"):
        own = expected[samples.numpy()]
        other = np.roll(own, 1, 0)
        differs = own != other
        shares = ((labels.numpy() - other) / np.where(differs, own - other, 1))[differs]
        assert np.ptp(shares) < 1e-4  # one mixing ratio per batch
        assert 0 <= shares.mean() <= 1
        assert images.dtype == labels.dtype == torch.float32
        code = """
import numpy as np
from torchvision.transforms import v2
own, share = np.load(sys.argv[1]), float(sys.argv[3])
mix = v2.MixUp(num_classes=3)._mixup_label(torch.from_numpy(own), lam=share)
np.save(sys.argv[2], mix.numpy())
"""
        np.save(tmp_path / "own.npy", own)
        ask_torchvision(code, tmp_path / "own.npy", tmp_path / "mix.npy", str(shares.mean()))
        assert np.allclose(labels.numpy(), np.load(tmp_path / "mix.npy"), atol=1e-5)


def test_options_by_class_refuse_vectors(made):
    folder, _ = made
    pack = folder / "set.tnd"
    with pytest.raises(tundish.Error, match="an order by class needs one label per sample"):
        loader(pack, order=tundish.Balanced())
    values = [*SMALL, T.ToDtype("float32", scale=True)]
    with pytest.raises(tundish.Error, match="vectors of 3 numbers, and num_classes is 7"):
        loader(pack, transforms=[*values, T.MixUp(num_classes=7)])
    with pytest.raises(tundish.Error, match="label_smoothing must be 0"):
        loader(pack, transforms=[*values, T.TimmMixup(label_smoothing=0.1, num_classes=3)])
    for labels, says in (
        (np.zeros((9, 3)), "9 labels for 10 samples"),
        (np.zeros((10, 0)), "labels must be a flat sequence of integers"),
        (np.zeros((10, 2, 2)), "labels must be a flat sequence of integers"),
        (np.full((10, 2), np.nan), r"labels\[0, 0\] is nan"),
        (np.full((10, 2), 1e60), r"labels\[0, 0\] is inf"),
    ):
        with pytest.raises(ValueError, match=says), np.errstate(over="ignore"):
            loader(pack, labels=labels)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("path,label:a,label:b\n0.png,1,0\n1.jpg,1,\n", "line 3, column 'label:b': it is empty"),
        (
            "path,label:a,label:b\n0.png,1,0\n1.jpg,1\n",
            "line 3: 2 columns, but the first line has 3",
        ),
        ("path,label:a\n0.png,yes\n", "line 2, column 'label:a': 'yes' is no finite number"),
        ("path,label:a\n0.png,nan\n", "'nan' is no finite number"),
        ("path,label:a\n0.png,1e39\n", "'1e39' is no finite number"),
        (
            "path,label:a,class\n0.png,1,x\n",
            "column 'label:a': column 'class' already is the label",
        ),
        ("path,label: \n0.png,1\n", "the class has no name"),
        ("path,label:a,Label: a\n0.png,1,1\n", "two columns are of this class"),
        ("path," + ",".join(f"c{i}" for i in range(64)) + "\n", "65 columns that become fields"),
    ],
)
def test_a_wrong_list_is_refused_with_line_and_column(made, text, says):
    folder, _ = made
    path = folder / "wrong.csv"
    path.write_text(text)
    with pytest.raises(tundish.Error, match=says):
        tundish.Loader(path)


@needs_program
def test_a_list_with_a_thousand_classes_survives_unpack(made, tmp_path):
    folder, _ = made
    vectors = np.random.default_rng(2).normal(size=(3, 1000)).astype(np.float32)
    head = ",".join(["path", *[f"label:c{k}" for k in range(1000)]])
    rows = [",".join([f"{2 * n}.png", *map(repr, row.tolist())]) for n, row in enumerate(vectors)]
    (folder / "wide.csv").write_text("\n".join([head, *rows]))
    tundish.pack(folder / "wide.csv", tmp_path / "wide.tnd", progress=False)
    ((_, labels),) = list(tundish.Loader(tmp_path / "wide.tnd", 3))
    assert np.array_equal(labels.numpy(), vectors)
    assert run("unpack", tmp_path / "wide.tnd", "-o", tmp_path / "out").returncode == 0
    ((_, labels),) = list(tundish.Loader(tmp_path / "out/list.csv", 3))
    assert np.array_equal(labels.numpy(), vectors)
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [
        *("0.png", "2.png", "4.png"),
        "list.csv",
    ]
