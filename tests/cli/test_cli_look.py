"""`tundish info`, `info --list` and `unpack --record`."""

import json
import re

from tests.helpers.program import (
    documented_keys,
    err,
    error_of,
    needs_program,
    out,
    result_json,
    tundish,
)

pytestmark = needs_program


def test_info_prints_the_documented_keys(three_photos, three_packed):
    info = result_json("info", three_packed)
    assert set(info) == documented_keys("info")
    assert info["kind"] == "pack"
    assert info["records"] == 3
    assert info["classes"] == ["cat", "dog"]
    assert info["labels"] == {"0": 2, "1": 1}
    assert info["fields"][0] == {"name": "image", "type": "image"}
    assert info["width"] == {"min": 16, "median": 32, "max": 64}
    folder = result_json("info", three_photos)
    assert set(folder) == set(info)
    assert folder["kind"] == "image folder"
    assert folder["id"] is None
    assert "3, " in re.search(r"^  records +(.*)$", out(tundish("info", three_packed)), re.M)[1]


def test_the_list_has_every_record(three_photos, three_packed):
    text = out(tundish("info", "--list", three_packed)).splitlines()
    assert [line.split()[-1] for line in text] == ["cat/a.jpg", "cat/b.JPEG", "dog/c.jpg"]
    rows = [
        json.loads(line)
        for line in tundish("info", "--list", three_packed, "--json").stdout.splitlines()
    ]
    assert all(set(row) == documented_keys("info", "--list") for row in rows)
    assert [row["class"] for row in rows] == ["cat", "cat", "dog"]
    assert rows[1]["codec"] == "png"
    some = tundish(
        "info", "--list", three_packed, "--json", "--from", "1", "--samples", "1"
    ).stdout.splitlines()
    assert [json.loads(line)["record"] for line in some] == [1]
    assert len(out(tundish("info", "--list", three_photos)).splitlines()) == 3


def test_the_list_of_a_folder_omits_values_that_were_not_read(three_photos):
    assert [
        line.split()[1:3] for line in out(tundish("info", "--list", three_photos)).splitlines()
    ] == [["-", "-"]] * 3
    row = json.loads(tundish("info", "--list", three_photos, "--json").stdout.splitlines()[0])
    assert (row["codec"], row["width"], row["height"]) == (None, None, None)


def test_the_list_gives_the_same_warnings_as_pack(three_photos):
    result = tundish("info", "--list", three_photos / "cat")
    assert len(out(result).splitlines()) == 2
    assert "warning: " in err(result)
    assert "images are directly in it, so they have no labels" in err(result)
    assert err(tundish("info", "--list", three_photos / "cat", "--quiet")) == ""
    assert err(tundish("info", "--list", three_photos)) == ""


def test_unpack_writes_the_bytes_of_one_record(three_photos, three_packed):
    assert (
        tundish("unpack", three_packed, "--record", "2").stdout
        == (three_photos / "dog/c.jpg").read_bytes()
    )
    assert tundish("unpack", three_packed, "--record", "2", "--field", "label").stdout == b"1\n"
    record = result_json("unpack", three_packed, "--record", "2")
    assert set(record) == documented_keys("unpack", "--record")
    size = (three_photos / "dog/c.jpg").stat().st_size
    assert record["fields"] == [{"name": "image", "type": "image", "bytes": size}]
    result = tundish("unpack", three_packed, "--record", "0", "--field", "nothing")
    assert result.returncode == 2
    assert "there are: image, label" in err(result)
    result = tundish("unpack", three_packed, "--record", "3")
    assert result.returncode == 1
    assert "TND-201" in err(result)


def test_unpack_writes_one_record_to_a_file(three_photos, three_packed, tmp_path):
    image = (three_photos / "dog/c.jpg").read_bytes()
    target = tmp_path / "c.jpg"
    words = ["unpack", three_packed, "--record", "2", "-o", target]
    assert "c.jpg" in out(tundish(*words))
    assert target.read_bytes() == image
    assert error_of(*words, exit_code=1)["code"] == "TND-506"
    report = result_json(*words, "--field", "label", "--force")
    assert set(report) == documented_keys("unpack", "--record")
    assert report["output"] == str(target)
    assert target.read_bytes() == b"1\n"
    assert result_json("unpack", three_packed, "--record", "2")["output"] is None
    assert tundish(*words, "--force", "--quiet").stdout == b""
    assert target.read_bytes() == image
