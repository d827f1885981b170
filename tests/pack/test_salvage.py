"""`tundish verify --salvage`: recovers the records of damaged packs."""

import json

import numpy
import pytest

from tests.helpers.photos import write_photos
from tests.helpers.program import documented_keys, error_of, needs_program, out, result_json
from tests.helpers.program import tundish as run
from tests.helpers.small_set import count_sound, make_folder

pytestmark = needs_program


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """30 PNGs and their pack."""
    base = tmp_path_factory.mktemp("salvage")
    folder = make_folder(base / "photos", 30, size=20)
    result_json("pack", folder, "-o", base / "whole.tnd")
    return folder, base / "whole.tnd"


@pytest.fixture(scope="module")
def lanes(tmp_path_factory):
    """12 JPEGs re-coded with their own tables, and a second pack with the same tables."""
    base = tmp_path_factory.mktemp("lanes")
    folder = write_photos(base / "photos", range(12), quality=95)
    result_json("pack", folder, "-o", base / "whole.tnd")
    result_json("split", base / "whole.tnd", "a=0.5,b=0.5", "-o", base / "part")
    return folder, base / "whole.tnd", base / "part-a.tnd"


def section(data, entry):
    """Returns the offset of a section of the pack, read from its tail."""
    return int.from_bytes(data[len(data) - 136 + entry :][:8], "little")


def salvage(data, tmp_path, *words, exit_code=3):
    torn, rest = tmp_path / "torn.tnd", tmp_path / "rest.tnd"
    torn.write_bytes(data)
    report = result_json("verify", torn, "--salvage", rest, "--force", *words, exit_code=exit_code)
    assert count_sound(rest) == report["samples"]
    assert run("verify", rest).returncode == 0
    return report, rest


def keys(pack):
    return [
        json.loads(line)["key"]
        for line in run("info", "--list", pack, "--json").stdout.splitlines()
    ]


def test_an_intact_pack_loses_nothing(packed, tmp_path):
    report, rest = salvage(packed[1].read_bytes(), tmp_path, exit_code=0)
    assert set(report) == documented_keys("verify", "--salvage")
    assert report["samples"] == report["copied"] == report["records_before"] == 30
    assert rest.read_bytes() == packed[1].read_bytes()


def test_damaged_records_are_left_out_and_listed(packed, tmp_path):
    folder, whole = packed
    data = bytearray(whole.read_bytes())
    data[data.index((folder / "cat/003.png").read_bytes()) + 50] ^= 1
    report, rest = salvage(data, tmp_path)
    assert report["method"] == "index"
    assert [row["count"] for row in report["lost_records"]] == [1]
    assert sorted(set(keys(whole)) - set(keys(rest))) == ["cat/003.png"]
    text = out(run("verify", tmp_path / "torn.tnd", "--salvage", rest, "--force"))
    assert "lost: record 1" in text
    assert "29 records; 1 lost" in text


def test_images_are_recovered_with_names_without_tail_head_or_index(packed, tmp_path):
    folder, whole = packed
    data = whole.read_bytes()
    report, rest = salvage(bytes(64) + data[64:-10], tmp_path, exit_code=0)
    assert (report["method"], report["samples"]) == ("index", 30)
    assert len(report["lost_parts"]) == 2
    assert rest.read_bytes() == data
    text = out(run("verify", tmp_path / "torn.tnd", "--salvage", rest, "--force"))
    assert "damaged: the tail" in text
    assert "30 records; 0 lost" in text
    report, rest = salvage(data[: section(data, 72)], tmp_path, exit_code=0)
    assert (report["method"], report["labels_lost"], report["names_lost"]) == ("scan", 0, 0)
    assert rest.read_bytes() == data
    assert run("diff", folder, rest).returncode == 0


def test_a_truncated_file_gives_the_images_before_the_cut(packed, tmp_path):
    folder, whole = packed
    data = whole.read_bytes()
    cut = data.index((folder / "dog/004.png").read_bytes()) + 100
    report, rest = salvage(data[:cut], tmp_path)
    assert report["records_before"] is None
    assert report["names_lost"] == report["samples"] == 17
    assert keys(rest)[:2] == ["record-000000", "record-000001"]
    result = run("unpack", rest, "--record", "0")
    assert result.stdout == (folder / "cat/001.png").read_bytes()
    report, rest = salvage(data[:cut], tmp_path, "--like", whole)
    assert result_json("info", rest)["classes"] == ["cat", "dog"]
    assert report["labels_lost"] == 17


@pytest.mark.parametrize("entry", [24, 40])  # metadata, tables
def test_exit_code_0_means_that_nothing_is_lost(packed, tmp_path, entry):
    """PNG records do not need the tables."""
    data = bytearray(packed[1].read_bytes())
    data[section(data, entry) + 1] ^= 1
    needs_fields = entry == 24
    report, rest = salvage(data, tmp_path, exit_code=3 if needs_fields else 0)
    assert report["lost_parts"]
    report, rest = salvage(data, tmp_path, "--like", packed[1], exit_code=0)
    assert rest.read_bytes() == packed[1].read_bytes()


def test_lost_names_are_a_loss(packed, tmp_path):
    data = bytearray(packed[1].read_bytes())
    data[section(data, 56) + 9] ^= 1
    report, _ = salvage(data, tmp_path, exit_code=3)
    assert (report["samples"], report["names_lost"], report["lost_records"]) == (30, 30, [])


def test_re_coded_jpegs_need_their_tables(lanes, tmp_path):
    folder, whole, other = lanes
    data = whole.read_bytes()
    report, rest = salvage(data[: section(data, 72)], tmp_path, exit_code=0)
    assert report["samples"] == 12
    assert run("diff", folder, rest).returncode == 0
    cut = data[: section(data, 24)]
    error = error_of("verify", tmp_path / "torn.tnd", "--salvage", rest, exit_code=1)
    assert error["code"] == "TND-506"
    report, rest = salvage(cut, tmp_path, "--like", other)
    assert report["samples"] == 12
    assert run("verify", rest, "--pixels").returncode == 0
    (tmp_path / "torn.tnd").write_bytes(cut)
    none = ["verify", tmp_path / "torn.tnd", "--salvage", tmp_path / "none.tnd"]
    error = error_of(*none, exit_code=3)
    assert error["code"] == "TND-112"
    assert "record 0: its JPEG is re-coded with tables that are lost" in error["reason"]
    assert "--like names a pack with the same tables" in error["reason"]
    assert "image folder" not in error["message"]


@pytest.mark.parametrize("options", [["--lanes-tables", "builtin"], ["--codec", "keep"]])
def test_a_truncated_jpeg_pack_without_own_tables_is_recovered(lanes, tmp_path, options):
    result_json("pack", lanes[0], "-o", tmp_path / "whole.tnd", *options)
    data = (tmp_path / "whole.tnd").read_bytes()
    report, _ = salvage(data[: len(data) // 2], tmp_path)
    assert report["samples"] >= 4


def test_a_truncated_pack_of_arrays_needs_their_shape(tmp_path):
    images = numpy.random.default_rng(1).integers(0, 255, (60, 8, 8, 3), numpy.uint8)
    numpy.savez(tmp_path / "a.npz", images=images, labels=numpy.arange(60) % 7)
    result_json("pack", tmp_path / "a.npz", "-o", tmp_path / "whole.tnd")
    data = (tmp_path / "whole.tnd").read_bytes()
    cut = data[: section(data, 24) - 600]
    (tmp_path / "torn.tnd").write_bytes(cut)
    error = error_of(
        "verify", tmp_path / "torn.tnd", "--salvage", tmp_path / "none.tnd", exit_code=3
    )
    assert error["code"] == "TND-112"
    assert "the shape and type of arrays are not known; --like names a pack" in error["reason"]
    report, rest = salvage(cut, tmp_path, "--like", tmp_path / "whole.tnd")
    assert 50 < report["samples"] < 60
    assert (
        run("unpack", rest, "--record", "7").stdout
        == run("unpack", tmp_path / "whole.tnd", "--record", "7").stdout
    )


def test_a_file_that_is_not_a_pack_is_refused(tmp_path):
    (tmp_path / "a.tnd").write_bytes(b"hello" * 100)
    error = error_of("verify", tmp_path / "a.tnd", "--salvage", tmp_path / "b.tnd", exit_code=3)
    assert error["code"] == "TND-101"
    assert not (tmp_path / "b.tnd").exists()
