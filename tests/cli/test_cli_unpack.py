"""`tundish unpack` restores every file, whatever its name."""

import errno
import json
import os
import subprocess

import pytest

from tests.helpers.files import jpeg, png, tar_of, tree, write
from tests.helpers.program import (
    PROGRAM,
    documented_keys,
    err,
    needs_program,
    out,
    result_json,
    tundish,
)
from tests.helpers.small_set import SHIM

pytestmark = needs_program


def test_unpack_gives_the_original_files(three_photos, three_packed, tmp_path):
    report = result_json("unpack", three_packed, "-o", tmp_path / "back")
    assert set(report) == documented_keys("unpack")
    assert report["files"] == 3
    assert tree(tmp_path / "back") == tree(three_photos)
    again = result_json("unpack", three_packed, "-o", tmp_path / "back")
    assert again["unchanged"] == 3


def test_unpack_keeps_other_files_without_force(three_photos, three_packed, tmp_path):
    write(tmp_path / "back/cat/a.jpg", b"mine")
    result = tundish("unpack", three_packed, "-o", tmp_path / "back")
    assert result.returncode == 1
    assert "TND-506" in err(result)
    assert (tmp_path / "back/cat/a.jpg").read_bytes() == b"mine"
    assert tundish("unpack", three_packed, "-o", tmp_path / "back", "--force").returncode == 0
    assert tree(tmp_path / "back") == tree(three_photos)


def test_a_list_is_restored_with_its_labels_and_columns(tmp_path):
    write(tmp_path / "in/x/a.jpg", jpeg())
    write(tmp_path / "in/b.jpg", jpeg((1, 1, 1)))
    rows = 'path,label,note,weight\nx/a.jpg,cat,"one, two",0.5\nb.jpg,dog,"a ""quote""",3\n'
    write(tmp_path / "in/list.csv", rows.encode())
    first, second = tmp_path / "first.tnd", tmp_path / "second.tnd"
    assert tundish("pack", tmp_path / "in/list.csv", "-o", first).returncode == 0
    assert tundish("unpack", first, "-o", tmp_path / "back").returncode == 0
    assert (tmp_path / "back/x/a.jpg").read_bytes() == jpeg()
    assert tundish("pack", tmp_path / "back/list.csv", "-o", second).returncode == 0
    assert second.read_bytes() == first.read_bytes()


def test_an_archive_is_restored_with_every_file(tmp_path):
    files = {
        "s/1.jpg": jpeg(),
        "s/1.json": b"{}",
        "s/1.mask.png": png(),
        "s/2.jpg": jpeg((5, 5, 5)),
    }
    tar_of(tmp_path / "in.tar", files)
    assert tundish("pack", tmp_path / "in.tar", "-o", tmp_path / "a.tnd").returncode == 0
    assert tundish("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back").returncode == 0
    back = tree(tmp_path / "back")
    back.pop(b"list.csv", None)
    assert back == {name.encode(): data for name, data in files.items()}


def test_files_beside_images_keep_their_spelling(tmp_path):
    files = {"1.JPG": jpeg(), "1.TXT": b"one", "1.image": b"x", "2.jpg": jpeg(), "2.TXT": b"two"}
    source = tar_of(tmp_path / "in.tar", files)
    assert tundish("pack", source, "-o", tmp_path / "a.tnd").returncode == 0
    report = result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back")
    assert tree(tmp_path / "back") == {name.encode(): data for name, data in files.items()}
    assert report["list"] is None


def test_pack_warns_of_what_unpack_cannot_restore(tmp_path):
    files = {"1.jpg": jpeg(), "1.txt": b"one", "2.jpg": jpeg(), "2.TXT": b"two"}
    files |= {"2.json": b"{}", "3.jpg": jpeg(), "3.json": b""}
    source = tar_of(tmp_path / "in.tar", files)
    report = result_json("pack", source, "-o", tmp_path / "a.tnd")
    assert "1 files have endings that others spell in another case" in report["warnings"][0]
    assert "2.TXT" in report["warnings"][0]
    assert "1 files beside images are empty" in report["warnings"][1]
    assert "3.json" in report["warnings"][1]
    assert tundish("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back").returncode == 0
    assert set(tree(tmp_path / "back")) == {
        *(b"1.jpg", b"1.txt", b"2.jpg", b"2.txt", b"2.json", b"3.jpg")
    }


def test_the_label_list_uses_a_free_name(tmp_path):
    files = {"list.jpg": jpeg(), "list.csv": b"mine", "list.cls": b"3"}
    source = tar_of(tmp_path / "in.tar", files)
    assert tundish("pack", source, "-o", tmp_path / "a.tnd").returncode == 0
    report = result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back")
    assert report["list"] == "list-2.csv"
    back = tree(tmp_path / "back")
    assert back[b"list.csv"] == b"mine"
    assert back[b"list-2.csv"] == b"path,label\nlist.jpg,3\n"


def test_names_with_spaces_newlines_and_other_bytes_survive(tmp_path):
    names = [
        b"with space.jpg",
        b"line\nbreak.jpg",
        b"latin-\xe9.jpg",
        "ümläut.jpg".encode(),
        b"-o.jpg",
    ]
    for i, name in enumerate(names):
        write(os.fsencode(tmp_path) + b"/set of photos/a class\xff/" + name, jpeg((i, 0, 0)))
    source = tmp_path / "set of photos"
    assert tundish("pack", source, "-o", tmp_path / "my pack.tnd").returncode == 0
    text = out(tundish("info", "--list", tmp_path / "my pack.tnd"))
    assert len(text.splitlines()) == len(names)
    assert r"line\x0abreak.jpg" in text
    assert r"latin-\xe9.jpg" in text
    rows = [
        json.loads(x)
        for x in tundish("info", "--list", tmp_path / "my pack.tnd", "--json").stdout.splitlines()
    ]
    keys = {
        bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode() for row in rows
    }
    assert keys == {b"a class\xff/" + name for name in names}
    assert tundish("unpack", tmp_path / "my pack.tnd", "-o", tmp_path / "back").returncode == 0
    assert tree(tmp_path / "back") == tree(source)


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_used_for_a_file_and_a_folder_loses_one_record(tmp_path, order):
    names = ["x.png/y.png", "x.png"][::order]
    files = dict.fromkeys([*names, "z.png"], png())
    assert (
        tundish("pack", tar_of(tmp_path / "in.tar", files), "-o", tmp_path / "a.tnd").returncode
        == 0
    )
    for more in ([], ["--force"]):
        report = result_json(
            "unpack", tmp_path / "a.tnd", "-o", tmp_path / "back", *more, exit_code=3
        )
        (damaged,) = report["damaged"]
        assert (damaged["code"], damaged["record"], damaged["key"]) == ("TND-205", 1, names[1])
        assert set(tree(tmp_path / "back")) - {b"list.csv"} == {names[0].encode(), b"z.png"}


def test_a_dataset_folder_does_not_clash_with_the_label_list(tmp_path):
    files = {"list.csv/1.jpg": jpeg(), "list.csv/1.cls": b"3"}
    assert (
        tundish("pack", tar_of(tmp_path / "in.tar", files), "-o", tmp_path / "a.tnd").returncode
        == 0
    )
    report = result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back")
    assert report["list"] == "list-2.csv"


@pytest.mark.skipif(not SHIM.exists(), reason="./dev build makes it")
def test_an_unreadable_record_is_named_and_the_others_are_written(three_photos, tmp_path):
    packed = tmp_path / "a.tnd"
    assert tundish("pack", three_photos, "-o", packed, "--codec", "keep").returncode == 0
    lost = 0
    for nth in range(1, 40):
        back = tmp_path / f"back-{nth}"
        faults = {"FAIL_CALL": "pread", "FAIL_NTH": str(nth), "FAIL_ERRNO": str(errno.EIO)}
        result = subprocess.run(
            [PROGRAM, "unpack", packed, "-o", back, "--json"],
            env=os.environ | {"LD_PRELOAD": str(SHIM)} | faults,
            capture_output=True,
            timeout=120,
        )
        if result.returncode == 0:  # the program makes fewer than nth reads
            break
        report = json.loads(result.stdout)
        if "error" in report:  # the pack could not be opened
            assert lost == 0
            continue
        assert result.returncode == 3
        (damaged,) = report["damaged"]
        assert damaged["code"] == "TND-501"
        lost += damaged["record"] is not None
        assert report["files"] == (2 if damaged["record"] is not None else 3)
    assert lost == 3, "each record once"
