"""Packs lists (.csv, .tsv)."""

import csv
import os

import pytest

from tests.helpers.files import tree
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of, keys, packed, rows, tundish

pytestmark = needs_program


def write_list(path, lines, **options):
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        csv.writer(file, **options).writerows(lines)
    return path


@pytest.mark.parametrize(("ending", "options"), [(".csv", {}), (".tsv", {"delimiter": "\t"})])
def test_a_list_written_by_pythons_csv_is_read(ending, options, folder, files, tmp_path):
    labels = ["dog", "cat", "eel"]
    lines = [["path", "label", "weight", "note"]]
    for number, name in enumerate(files):
        path = os.path.join("folder", os.fsdecode(name))
        lines.append([path, labels[number % 3], number / 4, f'say "{number}",\nthen go'])
    path = write_list(tmp_path / ("list" + ending), lines, **options)
    pack = packed(path)
    for source in (path, pack):
        found = rows(source)
        assert [row["key"] for row in found] == [b"folder/" + name for name in files]
        assert [row["class"] for row in found] == [labels[n % 3] for n in range(len(files))]
        assert [row["label"] for row in found] == [[1, 0, 2][n % 3] for n in range(len(files))]

    tundish("unpack", pack, "-o", tmp_path / "again", "--quiet")
    again = packed(tmp_path / "again" / "list.csv")
    assert rows(again) == rows(pack)
    assert tree(tmp_path / "again" / "folder") == files


def test_a_list_of_absolute_paths_gives_relative_names(folder, files, tmp_path):
    (tmp_path / "lists").mkdir()
    lines = [["path"]] + [[os.fsdecode(os.path.join(os.fsencode(folder), n))] for n in files]
    pack = packed(write_list(tmp_path / "lists" / "list.csv", lines))
    assert keys(pack) == list(files)
    assert os.fsencode(tmp_path) not in pack.read_bytes()


@pytest.mark.parametrize(
    ("labels", "warning"),
    [
        (["0", "2", "10", "nan"], "the label 'nan' is no number"),
        (["0", "2", "10", "x"], "the label '10' becomes 1"),
        (["0", "1", "2", "x"], ""),  # digits and letters keep their order
        (["0", "1", "2", "10"], ""),
        (["dog", "cat", "3d", "eel"], ""),
    ],
)
def test_numbers_that_become_names_give_a_warning(labels, warning, tmp_path):
    """One label that is no number makes names of all, and 10 comes before 2."""
    text = "".join(f"{number}.jpg,{label}\n" for number, label in enumerate(labels))
    (tmp_path / "list.csv").write_text("path,label\n" + text)
    messages = tundish("info", tmp_path / "list.csv").stderr.decode()
    assert warning in messages
    assert bool(warning) == ("names of classes" in messages)


def test_a_row_whose_file_is_missing_is_refused_alone(folder, tmp_path):
    lines = [["path"], ["folder/Zebra/1.jpg"], ["folder/missing.jpg"]]
    path = write_list(tmp_path / "list.csv", lines)
    result = tundish("pack", path, "-o", tmp_path / "out.tnd", exit_code=3)
    assert b"missing.jpg" in result.stderr
    assert b"TND-301" in result.stderr
    assert keys(tmp_path / "out.tnd") == [b"folder/Zebra/1.jpg"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("path,label\na.jpg,1\nb.jpg\n", "TND-308", "line 3: 1 columns"),
        ('path,label\na.jpg,1\n"b.jpg,2\n', "TND-308", "line 3: a quote opens"),
        ("name,label\na.jpg,1\n", "TND-308", "no column is named 'path'"),
        ("path,label\na.jpg,1\nb.jpg,\n", "TND-313", "line 3, column 'label'"),
        ("path,label\na.jpg,1\nb.jpg,1.5\n", "TND-313", "line 3, column 'label'"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_by_line(text, code, words, tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(text)
    found, message = error_of("info", "--list", path, exit_code=3)
    assert found == code
    assert words in message
