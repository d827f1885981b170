"""`tundish merge` and `tundish diff`."""

import shutil

import pytest

from tests.helpers.photos import write_photos
from tests.helpers.program import documented_keys, err, error_of, needs_program, out, result_json
from tests.helpers.program import tundish as run
from tests.helpers.small_set import make_folder

pytestmark = needs_program


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two packs of JPEGs with different classes and different tables."""
    base = tmp_path_factory.mktemp("merge")
    write_photos(base / "a", range(12), quality=95)
    write_photos(base / "b", range(20, 24), ("dog", "emu"), quality=92)
    write_photos(base / "b", range(24, 26), ("dog", "emu"), quality=20)
    for name in ("a", "b"):
        result_json("pack", base / name, "-o", base / f"{name}.tnd")
    return base


def test_merge_joins_classes_and_copies_records(two, tmp_path):
    target = tmp_path / "both.tnd"
    report = result_json("merge", two / "a.tnd", two / "b.tnd", "-o", target)
    assert set(report) == documented_keys("merge")
    assert report["copied"] == 12
    assert report["recoded"] > 0
    assert report["copied"] + report["recoded"] + report["kept_as_jpeg"] == 18
    assert report["relabeled"] == 6
    assert result_json("info", target)["classes"] == ["cat", "dog", "emu"]
    assert run("verify", target, "--pixels").returncode == 0
    both = tmp_path / "both"
    shutil.copytree(two / "a", both)
    shutil.copytree(two / "b", both, dirs_exist_ok=True)
    assert run("diff", both, target).returncode == 0
    result_json("merge", two / "a.tnd", two / "b.tnd", "-o", tmp_path / "c.tnd", "-j", "1")
    assert (tmp_path / "c.tnd").read_bytes() == target.read_bytes()


def test_merging_packs_with_the_same_tables_re_encodes_nothing(two, tmp_path):
    for name in ("a", "b"):
        words = ["-o", tmp_path / f"{name}.tnd", "--lanes-tables", "builtin"]
        result_json("pack", two / name, *words)
    report = result_json("merge", tmp_path / "a.tnd", tmp_path / "b.tnd", "-o", tmp_path / "c.tnd")
    assert report["copied"] == 18
    assert report["recoded"] == 0


def test_equal_keys_are_refused_or_renamed(two, tmp_path):
    target = tmp_path / "c.tnd"
    error = error_of("merge", two / "a.tnd", two / "a.tnd", "-o", target, exit_code=2)
    assert "'cat/000.jpg', is sample 0" in error["message"]
    assert not target.exists()
    report = result_json("merge", two / "a.tnd", two / "a.tnd", "-o", target, "--rename")
    assert report["samples"] == 24
    assert report["renamed"][0]["now"] == "cat/000-2.jpg"
    assert "output" not in result_json("diff", two / "a.tnd", target, exit_code=1)
    error_of("merge", two / "a.tnd", "-o", target, exit_code=1)
    assert run("merge", two / "a.tnd", "-o", target, "--force").returncode == 0


def test_merge_of_different_fields_is_refused(two, tmp_path):
    list_file = tmp_path / "list.csv"
    list_file.write_text(f"path,label,camera\n{two}/a/cat/000.jpg,cat,left\n")
    error = error_of("merge", two / "a.tnd", list_file, "-o", tmp_path / "c.tnd", exit_code=2)
    assert "camera (text)" in error["message"]


def test_diff_names_the_differences_and_has_the_exit_codes_of_diff(tmp_path):
    old = make_folder(tmp_path / "old", 10)
    result_json("pack", old, "-o", tmp_path / "old.tnd")
    assert "10 unchanged" in out(run("diff", old, tmp_path / "old.tnd"))
    new = tmp_path / "new"
    shutil.copytree(old, new)
    (new / "cat/001.png").write_bytes((new / "cat/003.png").read_bytes())
    (new / "dog/002.png").rename(new / "dog/999.png")
    report = result_json("diff", tmp_path / "old.tnd", new, exit_code=1)
    assert set(report) == documented_keys("diff")
    assert [row["key"] for row in report["removed"]] == ["dog/002.png"]
    assert [row["key"] for row in report["added"]] == ["dog/999.png"]
    assert [(row["key"], row["fields"]) for row in report["changed"]] == [
        ("cat/001.png", ["image"])
    ]
    lines = out(run("diff", tmp_path / "old.tnd", new)).splitlines()
    assert lines[:3] == ["- dog/002.png", "+ dog/999.png", "~ cat/001.png  image"]
    result = run("diff", old, tmp_path / "missing.tnd")
    assert result.returncode == 2
    assert "TND-301" in err(result)


def test_diff_finds_the_damage_of_a_copy(tmp_path):
    photos = make_folder(tmp_path / "photos", 10)
    good, copy = tmp_path / "good.tnd", tmp_path / "copy.tnd"
    result_json("pack", photos, "-o", good)
    shutil.copy(good, copy)
    assert "same" in out(run("diff", good, copy))
    data = bytearray(copy.read_bytes())
    at = data.index((photos / "cat/001.png").read_bytes()) + 40
    data[at : at + 3] = bytes(byte ^ 0xFF for byte in data[at : at + 3])
    copy.write_bytes(data)
    report = result_json("diff", good, copy, exit_code=3)
    assert not report["same"]
    assert report["unchanged"] == 9
    assert [row["key"] for row in report["changed"]] == ["cat/001.png"]
    assert report["changed"][0]["unreadable"].startswith("TND-203 " + str(copy))
    assert report["damage"] == []
    result = run("diff", copy, good)
    assert result.returncode == 3
    assert "~ cat/001.png  cannot be read: TND-203" in out(result)
    assert "damaged" in out(result).splitlines()[-1]


def test_a_damaged_source_gives_exit_code_3(tmp_path):
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    result = run("pack", tmp_path / "cut.npy", "-o", tmp_path / "a.tnd")
    assert "TND-314" in err(result)
    assert result.returncode == 3


def test_diff_compares_samples_by_number(two, tmp_path):
    shutil.copytree(two / "a", tmp_path / "other")
    photo = sorted((tmp_path / "other").rglob("*.jpg"))[4]
    photo.write_bytes(photo.read_bytes() + b"more")
    photo.rename(photo.with_name("another name.jpg"))
    numbers = tmp_path / "numbers"
    numbers.write_text("0\n1\n2\n")
    words = ("diff", tmp_path / "other", two / "a.tnd", "--numbers", numbers)
    assert result_json(*words)["unchanged"] == 3
    numbers.write_text("".join(f"{number}\n" for number in range(12)))
    assert run(*words).returncode == 1
    numbers.write_text("3\nx\n")
    assert "line 2 of" in err(run(*words))
    numbers.write_text("12\n")
    assert "it has 12 samples" in error_of(*words, exit_code=2)["message"]
