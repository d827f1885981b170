"""Selection of samples: --filter, --duplicates, --subset, --samples; `tundish split`."""

import fcntl
import json
import os
import shutil

import pytest
import tundish

from tests.helpers.files import jpeg, write
from tests.helpers.program import documented_keys, err, error_of, needs_program, result_json
from tests.helpers.program import tundish as run
from tests.helpers.small_set import make_folder

pytestmark = needs_program


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """40 PNGs in two classes; dog/038.png has the bytes of cat/001.png, cat/039.png is a JPEG."""
    folder = make_folder(tmp_path_factory.mktemp("choose") / "photos", 40)
    shutil.copy(folder / "cat/001.png", folder / "dog/038.png")
    (folder / "cat/039.png").write_bytes(jpeg())
    return folder


def keys(pack):
    return [
        json.loads(line)["key"]
        for line in run("info", "--list", pack, "--json").stdout.splitlines()
    ]


def test_a_filter_chooses_and_the_report_says_so(photos, tmp_path):
    words = ["--filter", "label=cat", "--filter", "key~*/00?.png and width<=8"]
    report = result_json("pack", photos, "-o", tmp_path / "a.tnd", *words)
    assert set(report) == documented_keys("pack")
    assert report["samples"] == 5
    assert report["chosen"]["of"] == 40
    assert keys(tmp_path / "a.tnd") == [f"cat/00{n}.png" for n in (1, 3, 5, 7, 9)]
    assert result_json("info", tmp_path / "a.tnd")["classes"] == ["cat", "dog"]
    python = tundish.pack(photos, tmp_path / "b.tnd", filter=words[1::2], samples=3)
    assert python["samples"] == 3
    report = result_json("pack", photos, "-o", tmp_path / "c.tnd", "--filter", "codec=jpeg")
    assert report["samples"] == 1
    assert result_json("pack", photos, "-o", tmp_path / "d.tnd")["chosen"] is None


@pytest.mark.parametrize("clause", ["label>=10", "label<2", "label=3", "label!=3"])
def test_a_number_is_refused_where_classes_have_other_numbers_as_names(clause, tmp_path):
    """Class 2 is called '10': a number could mean the name or the class."""
    for name in ("0", "1", "2", "10"):
        write(tmp_path / "digits" / name / f"{name}.jpg", jpeg(int(name)))
    words = ["pack", tmp_path / "digits", "-o", tmp_path / "a.tnd", "--filter"]
    error = error_of(*words, clause, exit_code=2)
    assert "class 2 is called '10'" in error["reason"]
    for clause, chosen in (("label=10", ["10/10.jpg"]), ("label~1*", ["1/1.jpg", "10/10.jpg"])):
        result_json(*words, clause, "--force")
        assert keys(tmp_path / "a.tnd") == chosen
    assert result_json(*words, "label!=-1", "--force")["samples"] == 4


def test_a_jpeg_that_was_recoded_is_both_jpeg_and_lanes(photos, tmp_path):
    report = result_json("pack", photos, "-o", tmp_path / "all.tnd", "--max-growth", "9")
    assert report["codecs"] == {"png": 39, "lanes": 1}
    for text, samples in (
        ("codec=lanes", 1),
        ("codec=jpeg", 1),
        ("codec~l*", 1),
        ("codec!=lanes", 39),
        ("codec!=jpeg", 39),
        ("codec!~[jl]*", 39),
        ("codec=png", 39),
    ):
        words = ["-o", tmp_path / "a.tnd", "--force", "--filter", text]
        assert result_json("pack", tmp_path / "all.tnd", *words)["samples"] == samples, text


def test_an_invalid_filter_is_a_usage_error(photos, tmp_path):
    for words, text in (
        (["--filter", "label"], "not compared with anything"),
        (["--subset", "0.5"], "tundish: --subset is a number such as 1000 or a share such as 10%"),
        (["--duplicates", "both"], "--duplicates is one of"),
    ):
        result = run("pack", photos, "-o", tmp_path / "a.tnd", *words)
        assert result.returncode == 2
        assert text in err(result)
    error = error_of("pack", photos, "-o", tmp_path / "a.tnd", "--filter", "label=cow", exit_code=2)
    assert "there are: cat, dog" in error["message"]
    error = error_of("pack", photos, "-o", tmp_path / "a.tnd", "--filter", "key=x", exit_code=1)
    assert error["code"] == "TND-322"
    assert "fix: change the filter" in error["message"]
    assert not (tmp_path / "a.tnd").exists()


def test_duplicates_are_reported_or_dropped(photos, tmp_path):
    report = result_json("pack", photos, "-o", tmp_path / "a.tnd", "--duplicates", "report")
    assert report["samples"] == 40
    assert report["chosen"]["duplicates"] == [
        {"key": "dog/038.png", "duplicate_of": {"key": "cat/001.png"}, "same_label": False}
    ]
    report = result_json("pack", photos, "-o", tmp_path / "b.tnd", "--duplicates", "drop")
    assert report["samples"] == 39
    assert "dog/038.png" not in keys(tmp_path / "b.tnd")


def test_sampling_does_not_depend_on_threads_shards_or_packing(photos, tmp_path):
    words = ["--subset", "30%", "--seed", "4", "--duplicates", "drop"]
    for name, more in (("a", ["-j", "1"]), ("b", ["-j", "4"])):
        result_json("pack", photos, "-o", tmp_path / f"{name}.tnd", *words, *more)
    assert (tmp_path / "a.tnd").read_bytes() == (tmp_path / "b.tnd").read_bytes()
    result_json("pack", photos, "-o", tmp_path / "c.tnd", *words, "--shard-size", "3KB")
    assert keys(tmp_path / "c.tnds") == keys(tmp_path / "a.tnd")
    result_json("pack", photos, "-o", tmp_path / "all.tnd")
    result_json("pack", tmp_path / "all.tnd", "-o", tmp_path / "d.tnd", *words)
    assert keys(tmp_path / "d.tnd") == keys(tmp_path / "a.tnd")


def test_split_writes_parts_that_stay_when_data_are_added(photos, tmp_path):
    words = ["train=0.7,val=30%", "--seed", "3"]
    report = result_json("split", photos, *words, "-o", tmp_path / "a")
    assert set(report) == documented_keys("split")
    train, val = keys(tmp_path / "a-train.tnd"), keys(tmp_path / "a-val.tnd")
    assert sorted(train + val) == sorted(
        f"{path.parent.name}/{path.name}" for path in photos.glob("*/*")
    )
    for part, names in zip(report["parts"], (train, val), strict=True):
        assert part["samples"] == len(names)
        cats = sum(name.startswith("cat") for name in names)
        assert part["classes"] == {"cat": cats, "dog": len(names) - cats}
    more = tmp_path / "more"
    shutil.copytree(photos, more)
    make_folder(more, 60)
    result_json("split", more, *words, "-o", f"{tmp_path}/")
    assert set(train) <= set(keys(tmp_path / "train.tnd"))
    assert set(val) <= set(keys(tmp_path / "val.tnd"))
    assert run("verify", tmp_path / "train.tnd").returncode == 0


def test_split_makes_its_folder(photos, tmp_path):
    report = result_json("split", photos, "a=0.5,b=0.5", "-o", f"{tmp_path}/new/sub/")
    assert [part["output"] for part in report["parts"]] == [
        f"{tmp_path}/new/sub/{name}.tnd" for name in "ab"
    ]
    (tmp_path / "file").write_bytes(b"")
    error = error_of("split", photos, "a=0.5,b=0.5", "-o", f"{tmp_path}/file/", exit_code=1)
    assert error["file"].startswith(f"{tmp_path}/file/")


def test_split_copies_the_records_of_a_pack(photos, tmp_path):
    result_json("pack", photos, "-o", tmp_path / "all.tnd", "--lanes-tables", "builtin")
    report = result_json("split", tmp_path / "all.tnd", "a=0.5,b=0.5", "-o", tmp_path / "x")
    assert [part["copied"] for part in report["parts"]] == [
        part["samples"] for part in report["parts"]
    ]
    merged = tmp_path / "merged.tnd"
    result_json("merge", tmp_path / "x-a.tnd", tmp_path / "x-b.tnd", "-o", merged)
    assert run("diff", photos, merged).returncode == 0


def interrupted_split(photos, prefix):
    """Makes a split that ends after its first part, because the second part is locked."""
    lock = prefix.parent / f".{prefix.name}-b.tnd.journal"
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        error = error_of("split", photos, "a=0.5,b=0.5", "-o", prefix, exit_code=1)
        assert error["code"] == "TND-510"
    lock.unlink()
    return prefix.parent / f".{prefix.name}.split-parts.journal"


@pytest.mark.parametrize("recorded", [True, False])
def test_an_interrupted_split_goes_on(recorded, photos, tmp_path):
    """If not recorded, the kill came between the first part and its line in the journal."""
    words = ["a=0.5,b=0.5", "-o"]
    whole = result_json("split", photos, *words, tmp_path / "whole")
    journal = interrupted_split(photos, tmp_path / "x")
    first = (tmp_path / "x-a.tnd").stat()
    if not recorded:
        data = journal.read_bytes()
        journal.write_bytes(data[: 12 + int.from_bytes(data[4:8], "little")])
    report = result_json("split", photos, *words, tmp_path / "x")
    assert [part["kept"] for part in report["parts"]] == [recorded, False]
    assert ((tmp_path / "x-a.tnd").stat().st_ino == first.st_ino) == recorded
    for part, other in zip(report["parts"], whole["parts"], strict=True):
        same = ("samples", "copied", "file_bytes", "id", "refused", "classes")
        assert [part[name] for name in same] == [other[name] for name in same]
        name = f"{part['name']}.tnd"
        assert (tmp_path / f"x-{name}").read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
    assert error_of("split", photos, *words, tmp_path / "x", exit_code=1)["code"] == "TND-506"


def test_an_interrupted_split_does_not_mix_with_another(photos, tmp_path):
    interrupted_split(photos, tmp_path / "x")
    other = ["a=0.5,b=0.5", "--seed", "1", "-o", tmp_path / "x"]
    error = error_of("split", photos, *other, exit_code=1)
    assert (error["code"], "the choice of samples has changed" in error["message"]) == (
        "TND-506",
        True,
    )
    foreign = tmp_path / "x-b.tnd"
    result_json("pack", photos, "-o", foreign, "--samples", "3")
    error = error_of("split", photos, "a=0.5,b=0.5", "-o", tmp_path / "x", exit_code=1)
    assert error["code"] == "TND-506"
    assert len(keys(foreign)) == 3
    result_json("split", photos, *other, "--force")
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("source", ["train.tnd", "all.tnds"])
def test_split_does_not_replace_its_source(source, photos, tmp_path):
    """A part that replaced its source would take the samples of the other parts with it."""
    tundish.pack(photos, tmp_path / "train.tnd")
    tundish.pack(photos, tmp_path / "all.tnd", shard_size="2KB")
    (tmp_path / "all-00001.tnd").rename(tmp_path / "val.tnd")
    names = ["all-00000.tnd", "val.tnd", *sorted(p.name for p in tmp_path.glob("all-*[2-9].tnd"))]
    tundish.write_manifest(tmp_path / "all.tnds", [tmp_path / name for name in names], force=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    words = ["train=0.5,val=0.5", "-o", f"{tmp_path}/", "--force"]
    error = error_of("split", tmp_path / source, *words, exit_code=2)
    assert "it is a file of the source" in error["reason"]
    assert error["file"].endswith("train.tnd" if source == "train.tnd" else "val.tnd")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_split_refuses_invalid_options_before_writing(photos, tmp_path):
    for parts, text in (("train=1", "one part"), ("a=0.5,b=0.4", "add up to 0.9")):
        result = run("split", photos, parts, "-o", tmp_path / "a")
        assert result.returncode == 2
        assert text in err(result)
    error = error_of("split", photos, "a=0.999999,b=0.000001", "-o", tmp_path / "a", exit_code=1)
    assert error["code"] == "TND-322"
    assert "falls into part b" in error["message"]
    error_of("split", photos, "a=0.999999,b=0.000001", "-o", f"{tmp_path}/x/", exit_code=1)
    assert not (tmp_path / "x").exists()
    (tmp_path / "a-b.tnd").write_bytes(b"")
    error_of("split", photos, "a=0.5,b=0.5", "-o", tmp_path / "a", exit_code=1)
    assert not (tmp_path / "a-a.tnd").exists()
