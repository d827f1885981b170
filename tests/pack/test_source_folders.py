"""Packs folders of images like torchvision reads them."""

import json
import os
import shutil
import time

import pytest

from tests.helpers.files import tree
from tests.helpers.program import needs_program
from tests.helpers.sources import NAMES, error_of, keys, packed, rows, tundish
from tests.helpers.torchvision_child import ask_torchvision

ENDINGS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

pytestmark = needs_program


def torchvision_samples(directory):
    """Reimplements torchvision.datasets.folder.make_dataset except for the class lookup."""
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    samples = []
    for label, name in enumerate(classes):
        for root, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            for file in sorted(files):
                if file.lower().endswith(ENDINGS):
                    path = os.path.relpath(os.path.join(root, file), directory)
                    samples.append((os.fsencode(path), label))
    return classes, samples


def test_a_folder_has_torchvisions_order_and_labels(folder):
    (folder / "a" / "notes.txt").write_text("no image")
    (folder / "empty").mkdir()
    (folder / "linked").symlink_to(folder / "a" / "nested", target_is_directory=True)
    (folder / "a" / "linked.jpg").symlink_to(folder / "Zebra" / "1.jpg")
    classes, samples = torchvision_samples(os.fspath(folder))
    for source in (folder, packed(folder)):
        found = rows(source)
        assert [(row["key"], row["label"]) for row in found] == samples
        for row in found:
            expected = classes[row["label"]]
            assert expected.isprintable() is False or row["class"] == expected


def test_a_folder_equals_torchvision_itself(folder):
    """Exchanges JSON with a child, so names that are not UTF-8 are left to the test above."""
    shutil.rmtree(os.path.join(os.fsencode(folder), b"\xff\xfe"))
    code = """
import json
from torchvision.datasets.folder import ImageFolder
print(json.dumps(ImageFolder(sys.argv[1]).samples))
"""
    samples = json.loads(ask_torchvision(code, folder))
    expected = [(os.path.relpath(path, folder).encode(), label) for path, label in samples]
    assert [(row["key"], row["label"]) for row in rows(folder)] == expected


def test_a_folder_is_restored_from_its_pack_byte_for_byte(folder, files, tmp_path):
    tundish("unpack", packed(folder), "-o", tmp_path / "again", "--quiet")
    again = tree(tmp_path / "again")
    assert {name: again.get(name) for name in files} == files
    assert set(again) - set(files) <= {b"list.csv"}


def test_a_loop_of_links_is_not_followed_forever(folder):
    (folder / "a" / "loop").symlink_to(folder / "a", target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    before = [key for key in keys(folder) if not key.startswith(b"loop/")]
    assert len(before) == len(NAMES)


def test_a_maze_of_links_is_refused_soon(tmp_path):
    """Twelve folders that link to each other have over 100 million paths without a loop."""
    names = [f"d{number}" for number in range(12)]
    for name in names:
        (tmp_path / "class" / name).mkdir(parents=True)
        for other in set(names) - {name}:
            (tmp_path / "class" / name / other).symlink_to(f"../{other}")
    (tmp_path / "class" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    code, message = error_of("info", tmp_path, exit_code=1)
    assert code == "TND-303"
    assert "symbolic links lead to 20,001 folders that were reached before" in message


def test_links_of_a_folder_without_images_to_itself_are_listed_once(tmp_path):
    for number in range(100):
        (tmp_path / f"link{number}").symlink_to(".", target_is_directory=True)
    started = time.monotonic()
    assert error_of("info", tmp_path, exit_code=1)[0] == "TND-302"
    assert time.monotonic() - started < 60  # minutes, if each path is listed


def test_an_empty_class_keeps_its_number_and_is_named(folder):
    (folder / "Aardvark").mkdir()
    result = tundish("pack", folder, "-o", folder / "out.tnd")
    assert b"TND-305" in result.stderr
    assert b"Aardvark" in result.stderr
    assert rows(folder / "out.tnd")[0]["label"] == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_an_error(folder):
    (folder / "a").chmod(0)
    try:
        assert error_of("info", "--list", folder, exit_code=1)[0] == "TND-504"
    finally:
        (folder / "a").chmod(0o755)
