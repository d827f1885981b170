"""`convert --to folder` writes a folder for each class, which torchvision's ImageFolder reads."""

import csv
import json

import numpy as np
import pytest
import tundish

from tests.helpers.files import jpeg, tree, write
from tests.helpers.program import needs_program, result_json
from tests.helpers.torchvision_child import ask_torchvision

pytestmark = needs_program

READ = """
import json
from torchvision.datasets.folder import ImageFolder
found = ImageFolder(sys.argv[1])
print(json.dumps([found.classes, found.targets]))
"""


def image_folder(path):
    """Returns the classes and the targets of torchvision's ImageFolder."""
    return json.loads(ask_torchvision(READ, path))


def listed(tmp_path, labels):
    """Writes images and a list with these labels; their folders say nothing about the labels."""
    rows = [["path", "label"]]
    for number, label in enumerate(labels):
        write(tmp_path / "all" / f"{number}.jpg", jpeg(number))
        rows.append([f"all/{number}.jpg", label])
    with open(tmp_path / "list.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path / "list.csv"


@pytest.mark.parametrize("packed", [False, True])
def test_torchvision_reads_the_labels_of_a_list_from_the_folders(tmp_path, packed):
    labels = ["dog", "cat", "eel", "cat", "dog"]
    source = listed(tmp_path, labels)
    if packed:
        tundish.pack(source, tmp_path / "a.tnd")
        source = tmp_path / "a.tnd"
    report = result_json("convert", source, "-o", tmp_path / "out", "--to", "folder")
    assert report["warnings"] == []
    classes, targets = image_folder(tmp_path / "out")
    assert classes == ["cat", "dog", "eel"]
    assert targets == [0, 0, 1, 1, 2]
    assert (tmp_path / "out/dog/all/0.jpg").read_bytes() == jpeg(0)
    for name in ("", "list.csv"):  # Tundish reads the folder and its list
        found = tundish.Dataset(tmp_path / "out" / name)
        assert found.classes == classes
        assert sorted(found.targets) == targets


def test_classes_that_are_not_in_the_order_of_their_names_give_a_warning(tmp_path):
    class Samples:
        classes = ("zebra", "ant")

        def __len__(self):
            return 4

        def __getitem__(self, i):
            return jpeg(i), i % 2

    tundish.pack(Samples(), tmp_path / "a.tnd")
    report = result_json("convert", tmp_path / "a.tnd", "-o", tmp_path / "out", "--to", "folder")
    assert "ImageFolder" in report["warnings"][0]
    assert "list.csv" in report["warnings"][0]
    assert image_folder(tmp_path / "out") == [["ant", "zebra"], [0, 0, 1, 1]]
    assert tundish.Dataset(tmp_path / "out/list.csv").classes == ["zebra", "ant"]


@pytest.mark.parametrize("labels", [["a/b", "c"], [".hidden", "c"], ["0", "1"]])
def test_labels_that_cannot_be_names_of_folders_keep_the_names_of_files(tmp_path, labels):
    source = listed(tmp_path, labels)
    result_json("convert", source, "-o", tmp_path / "out", "--to", "folder")
    assert set(tree(tmp_path / "out")) == {b"all/0.jpg", b"all/1.jpg", b"list.csv"}


class Masks:
    classes = ("ant", "bee")

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return {"image": jpeg(i), "label": i % 2, "mask": np.full((2, 2), i, np.uint8)}


def test_other_fields_that_are_named_as_images_give_a_warning_and_a_list(tmp_path):
    tundish.pack(Masks(), tmp_path / "a.tnd")
    report = result_json("convert", tmp_path / "a.tnd", "-o", tmp_path / "out", "--to", "folder")
    assert "files beside the images are named as images, too: 4" in report["warnings"][0]
    assert "ant/00000000.mask.npy" in report["warnings"][0]
    assert report["warnings"][0].endswith("open list.csv instead of the folder")
    assert len(report["warnings"]) == 1
    assert tundish.Dataset(tmp_path / "out/list.csv").targets == [0, 1, 0, 1]


def test_other_fields_beside_images_without_labels_give_a_list_too(tmp_path):
    samples = [{"image": jpeg(i), "mask": np.zeros((2, 2), np.uint8)} for i in range(3)]
    tundish.pack(samples, tmp_path / "a.tnd")
    report = result_json("convert", tmp_path / "a.tnd", "-o", tmp_path / "out", "--to", "folder")
    assert report["list"] == "list.csv"
    assert len(tundish.Dataset(tmp_path / "out/list.csv")) == 3
    result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "files")
    assert not (tmp_path / "files/list.csv").exists()


def test_images_that_torchvision_does_not_see_give_a_warning(tmp_path):
    write(tmp_path / "0.jpg", jpeg(0))
    write(tmp_path / "1.dat", jpeg(1))
    (tmp_path / "list.csv").write_text("path,label\n0.jpg,ant\n1.dat,ant\n")
    report = result_json("convert", tmp_path / "list.csv", "-o", tmp_path / "out", "--to", "folder")
    assert "images whose names end otherwise: 1" in report["warnings"][0]
    assert "ant/1.dat" in report["warnings"][0]
    assert image_folder(tmp_path / "out") == [["ant"], [0]]


def test_images_of_another_dataset_in_the_folder_give_a_warning(tmp_path):
    """ImageFolder would read both datasets."""
    old, new = listed(tmp_path / "old", "abc"), listed(tmp_path / "new", "ab")
    words = ["-o", tmp_path / "out", "--to", "folder", "--force"]
    assert result_json("convert", new, *words)["warnings"] == []
    assert result_json("convert", new, *words)["warnings"] == []  # repeated
    assert result_json("convert", old, *words)["warnings"] == []  # more of the same names
    warnings = result_json("convert", new, *words)["warnings"]
    assert len(warnings) == 1
    assert "not of this dataset (first: c/all/2.jpg)" in warnings[0]


def test_a_list_that_is_the_source_is_not_replaced(tmp_path):
    source = listed(tmp_path, "ab")
    before = source.read_bytes()
    report = result_json("convert", source, "-o", tmp_path, "--to", "folder", "--force")
    assert report["list"] == "list-2.csv"
    assert source.read_bytes() == before
    assert tundish.Dataset(tmp_path / "list-2.csv").targets == [0, 1]


def test_unpack_writes_the_names_of_the_source(tmp_path):
    tundish.pack(listed(tmp_path, ["a", "b"]), tmp_path / "a.tnd")
    result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "out")
    assert set(tree(tmp_path / "out")) == {b"all/0.jpg", b"all/1.jpg", b"list.csv"}
