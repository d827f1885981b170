"""`tundish info`, `ls` and `cat`."""

import json
import re

from tests.helpers.program import documented_keys, err, needs_program, out, result_json, tundish

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


def test_ls_lists_every_record(three_photos, three_packed):
    text = out(tundish("ls", three_packed)).splitlines()
    assert [line.split()[-1] for line in text] == ["cat/a.jpg", "cat/b.JPEG", "dog/c.jpg"]
    rows = [json.loads(line) for line in tundish("ls", three_packed, "--json").stdout.splitlines()]
    assert all(set(row) == documented_keys("ls") for row in rows)
    assert [row["class"] for row in rows] == ["cat", "cat", "dog"]
    assert rows[1]["codec"] == "png"
    some = tundish("ls", three_packed, "--json", "--from", "1", "--count", "1").stdout.splitlines()
    assert [json.loads(line)["record"] for line in some] == [1]
    assert len(out(tundish("ls", three_photos)).splitlines()) == 3


def test_ls_of_a_folder_does_not_claim_what_it_has_not_read(three_photos):
    assert [line.split()[1:3] for line in out(tundish("ls", three_photos)).splitlines()] == [
        ["-", "-"]
    ] * 3
    row = json.loads(tundish("ls", three_photos, "--json").stdout.splitlines()[0])
    assert (row["codec"], row["width"], row["height"]) == (None, None, None)


def test_ls_warns_of_what_a_pack_would_warn_of(three_photos):
    result = tundish("ls", three_photos / "cat")
    assert len(out(result).splitlines()) == 2
    assert "warning: " in err(result)
    assert "images are directly in it, so they have no labels" in err(result)
    assert err(tundish("ls", three_photos / "cat", "--quiet")) == ""
    assert err(tundish("ls", three_photos)) == ""


def test_cat_gives_the_bytes_of_a_record(three_photos, three_packed):
    assert tundish("cat", three_packed, "2").stdout == (three_photos / "dog/c.jpg").read_bytes()
    assert tundish("cat", three_packed, "2", "--field", "label").stdout == b"1\n"
    record = result_json("cat", three_packed, "2")
    assert set(record) == documented_keys("cat")
    size = (three_photos / "dog/c.jpg").stat().st_size
    assert record["fields"] == [{"name": "image", "type": "image", "bytes": size}]
    result = tundish("cat", three_packed, "0", "--field", "nothing")
    assert result.returncode == 2
    assert "there are: image, label" in err(result)
    result = tundish("cat", three_packed, "3")
    assert result.returncode == 1
    assert "TND-201" in err(result)
