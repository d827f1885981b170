"""Labels and class names through every target of `convert`, and through `unpack`."""

import os
import random

import numpy as np
import pytest
import tundish

from tests.helpers.files import jpeg, write
from tests.helpers.program import needs_program
from tests.helpers.program import tundish as program

pytestmark = needs_program

# Names that resemble numbers or missing labels, and names that only exact bytes distinguish.
NAMES = ["-1", "0", "1", "10", "2", "7.0", "1e3", "nan", "cat", "Cat", " cat", "cat ", "a,b", '"q"']
NAMES += ["it's", "a\nb", "a\r\nb", "\r", "é", "e\u0301", "\ufeffx", "#c", "=1", "label", "a;b\tc"]

# Targets that store class names exactly, and the file in which they are stored.
EXACT = {"unpack": "list.csv", "folder": "list.csv", "tar": None, "hdf5": None}
TARGETS = [*EXACT, "tfrecord", "lmdb", "npy"]


class Samples:
    """A dataset of arrays with labels; None means no label."""

    def __init__(self, classes, labels):
        self.classes, self.labels = classes, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return np.full((8, 8, 3), i, np.uint8), self.labels[i]


def random_set(chance):
    classes = chance.sample(NAMES, chance.randint(1, 6))
    used = chance.sample(range(len(classes)), chance.randint(1, len(classes)))
    labels = [chance.choice(used) for _ in range(12)]
    for i in chance.sample(range(12), chance.choice([0, 0, 3])):
        labels[i] = None
    return classes, [0 if i == 0 and label is None else label for i, label in enumerate(labels)]


def written(pack, target, to):
    """Converts a pack and returns the path of the result."""
    verb = ["unpack", pack, "-o", target]
    if to != "unpack":
        verb = ["convert", pack, "-o", target, "--to", to]
    result = program(*verb, "-q")
    assert result.returncode == 0, result.stderr
    if to == "npy":
        return target / "image.npy"
    return target / EXACT[to] if EXACT.get(to) else target


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_labels_and_classes_are_restored(seed, to, tmp_path):
    classes, labels = random_set(random.Random(seed))
    tundish.pack(Samples(classes, labels), tmp_path / "a.tnd", progress=False)
    path = written(tmp_path / "a.tnd", tmp_path / f"o.{to}", to)
    found = tundish.Dataset(path)
    assert found.targets == [-1 if label is None else label for label in labels]
    if to in EXACT:
        assert found.classes == classes
    elif to != "tfrecord":
        assert found.classes == []
    else:  # an empty class loses its name there
        assert len(found.classes) == max(label for label in labels if label is not None) + 1
        for label in set(labels) - {None}:
            assert found.classes[label] == classes[label]


@pytest.mark.parametrize("to", ["unpack", "folder", "tar", "tfrecord"])
def test_class_names_that_are_not_utf_8_are_restored(to, tmp_path):
    """A reader decides by the first records, which do not contain such a class in one case."""
    names = [b"a", b"b,\xff", b"\xfe\n"]
    for number in range(72):
        name = names[0] if number < 70 else names[number - 69]
        write(os.fsencode(tmp_path) + b"/in/" + name + b"/%02d.jpg" % number, jpeg())
    (tmp_path / "in" / "0 empty").mkdir()
    assert program("pack", tmp_path / "in", "-o", tmp_path / "a.tnd").returncode == 0
    wanted = tundish.Dataset(tmp_path / "a.tnd")
    path = written(tmp_path / "a.tnd", tmp_path / f"o.{to}", to)
    for round_number in range(2):  # the second time with the index beside the file
        found = tundish.Dataset(path)
        assert found.targets == wanted.targets == [1] * 70 + [2, 3], round_number
        assert found.classes[1:] == wanted.classes[1:]
        assert found.classes[0] == ("0" if to == "tfrecord" else "0 empty")
    assert program("pack", path, "-o", tmp_path / "b.tnd").returncode == 0


@pytest.mark.parametrize("words", [[], ["--filter", "label!=cat"]])
def test_an_unpacked_folder_has_a_list_where_its_folders_do_not_give_the_labels(words, tmp_path):
    for name in ("ant", "cat", "dog"):
        (tmp_path / "in" / name).mkdir(parents=True)
        if name != "ant" or not words:
            write(tmp_path / "in" / name / "x.jpg", jpeg())
    assert program("pack", tmp_path / "in", "-o", tmp_path / "a.tnd", *words).returncode == 0
    wanted = tundish.Dataset(tmp_path / "a.tnd")
    list_file = written(tmp_path / "a.tnd", tmp_path / "out", "unpack")
    assert list_file.exists() == bool(words)
    found = tundish.Dataset(list_file if words else tmp_path / "out")
    assert (found.targets, found.classes) == (wanted.targets, wanted.classes)
    assert wanted.targets == ([2] if words else [0, 1, 2])
    if words:
        text = 'path,label,label:number\ndog/x.jpg,dog,2\n"",ant,0\n"",cat,1\n'
        assert list_file.read_text() == text
