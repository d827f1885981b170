"""`convert --to folder` writes a folder for each class, which torchvision's ImageFolder reads."""

import csv
import json

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


def test_unpack_writes_the_names_of_the_source(tmp_path):
    tundish.pack(listed(tmp_path, ["a", "b"]), tmp_path / "a.tnd")
    result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "out")
    assert set(tree(tmp_path / "out")) == {b"all/0.jpg", b"all/1.jpg", b"list.csv"}
