"""`tundish unpack`: every file comes back, whatever its name."""

import json
import os

from files import jpeg, png, tar_of, tree, write
from program import documented_keys, err, needs_program, out, result_json, tundish

pytestmark = needs_program


def test_unpack_gives_the_original_files(three_photos, three_packed, tmp_path):
    report = result_json("unpack", three_packed, "-o", tmp_path / "back")
    assert set(report) == documented_keys("unpack")
    assert report["files"] == 3
    assert tree(tmp_path / "back") == tree(three_photos)
    again = result_json("unpack", three_packed, "-o", tmp_path / "back")
    assert again["already_there"] == 3


def test_unpack_keeps_other_files_unless_told(three_photos, three_packed, tmp_path):
    write(tmp_path / "back/cat/a.jpg", b"mine")
    result = tundish("unpack", three_packed, "-o", tmp_path / "back")
    assert result.returncode == 1
    assert "TND-506" in err(result)
    assert (tmp_path / "back/cat/a.jpg").read_bytes() == b"mine"
    assert tundish("unpack", three_packed, "-o", tmp_path / "back", "--force").returncode == 0
    assert tree(tmp_path / "back") == tree(three_photos)


def test_a_list_comes_back_with_its_labels_and_columns(tmp_path):
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


def test_an_archive_comes_back_with_every_file(tmp_path):
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


def test_what_unpack_cannot_give_back_is_said_when_packing(tmp_path):
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


def test_the_list_of_labels_takes_a_name_that_is_free(tmp_path):
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
    text = out(tundish("ls", tmp_path / "my pack.tnd"))
    assert len(text.splitlines()) == len(names)
    assert r"line\x0abreak.jpg" in text
    assert r"latin-\xe9.jpg" in text
    rows = [
        json.loads(x) for x in tundish("ls", tmp_path / "my pack.tnd", "--json").stdout.splitlines()
    ]
    keys = {
        bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode() for row in rows
    }
    assert keys == {b"a class\xff/" + name for name in names}
    assert tundish("unpack", tmp_path / "my pack.tnd", "-o", tmp_path / "back").returncode == 0
    assert tree(tmp_path / "back") == tree(source)
