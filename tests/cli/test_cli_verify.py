"""`tundish verify`, and the effect of damage on the other verbs."""

import io
import random
import re

import pytest
import tundish as package
from PIL import Image
from tundish import transforms as T

from tests.helpers.files import jpeg, left_behind, tree, write
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


def noisy_jpeg():
    file = io.BytesIO()
    noise = random.Random(1).randbytes(64 * 64 * 3)
    Image.frombytes("RGB", (64, 64), noise).save(file, "JPEG")
    return file.getvalue()


def test_verify_checks_bytes_and_pixels(three_packed):
    result = tundish("verify", three_packed)
    assert result.returncode == 0
    assert "every checksum is right" in out(result)
    report = result_json("verify", three_packed, "--pixels")
    assert set(report) == documented_keys("verify")
    assert report["ok"] is True
    assert report["images_decoded"] == 3


def test_quiet_verify_names_damage_on_stderr(three_photos, three_packed):
    assert (
        tundish("pack", three_photos, "-o", three_packed, "--force", "--codec", "keep").returncode
        == 0
    )
    data = bytearray(three_packed.read_bytes())
    data[data.index((three_photos / "cat/a.jpg").read_bytes()) + 40] ^= 1
    three_packed.write_bytes(data)
    result = tundish("verify", "--quiet", three_packed)
    assert (result.returncode, result.stdout) == (3, b"")
    assert "TND-203" in err(result)
    assert "on_error" in out(tundish("verify", three_packed))


def test_a_truncated_image_is_packed_and_found_by_verify(three_photos, tmp_path):
    write(three_photos / "cat/short.jpg", noisy_jpeg()[:2000])
    assert tundish("pack", three_photos, "-o", tmp_path / "a.tnd").returncode == 0
    assert tundish("verify", tmp_path / "a.tnd").returncode == 0
    report = result_json("verify", tmp_path / "a.tnd", "--pixels", exit_code=3)
    assert [row["key"] for row in report["damage"]] == ["cat/short.jpg"]
    assert report["damage"][0]["code"] in ("TND-405", "TND-406")
    assert report["damage"][0]["record"] == 2


def test_verify_and_the_loader_report_a_fault_in_the_same_words(three_photos, tmp_path):
    write(three_photos / "cat/short.jpg", noisy_jpeg()[:2000])
    packed = tmp_path / "a.tnd"
    assert tundish("pack", three_photos, "-o", packed).returncode == 0
    (damage,) = result_json("verify", packed, "--pixels", exit_code=3)["damage"]
    loader = package.Loader(packed, 4, transforms=[T.Resize(16), T.CenterCrop(16)])
    with pytest.warns(UserWarning, match="left out"):
        list(loader)
    (bad,) = loader.bad_samples()
    assert damage["message"] == bad["text"]
    assert damage["offset"] == bad["offset"]
    begin = packed.read_bytes().index(noisy_jpeg()[:2000])
    assert begin <= bad["offset"] <= begin + 2000, "counted from the beginning of the pack"


def test_a_file_that_is_not_a_pack_is_an_error(tmp_path):
    write(tmp_path / "a.tnd", b"hello, I am a text file and not a pack at all" * 10)
    for verb in (["info"], ["info", "--list"], ["unpack", "-o", tmp_path / "out"], ["bench"]):
        assert error_of(verb[0], tmp_path / "a.tnd", *verb[1:], exit_code=3)["code"] == "TND-101"
    report = result_json("verify", tmp_path / "a.tnd", exit_code=3)
    assert [row["code"] for row in report["damage"]] == ["TND-101"]
    assert left_behind(tmp_path, "a.tnd") == []


def test_a_truncated_pack_is_reported_as_incomplete(three_packed):
    data = three_packed.read_bytes()
    for keep in (len(data) - 1, len(data) // 2, 100):
        three_packed.write_bytes(data[:keep])
        assert error_of("info", three_packed, exit_code=3)["code"] == "TND-105"
        assert result_json("verify", three_packed, exit_code=3)["ok"] is False


def test_damaged_names_hide_neither_pixels_nor_files(three_photos, tmp_path):
    write(three_photos / "dog/short.jpg", jpeg()[:-40])
    packed = tmp_path / "a.tnd"
    assert tundish("pack", three_photos, "-o", packed).returncode == 0
    data = bytearray(packed.read_bytes())
    data[data.index(b"cat/a.jpg")] ^= 1
    packed.write_bytes(data)
    report = result_json("verify", packed, "--pixels", exit_code=3)
    assert report["damage"][0]["code"] == "TND-107"
    assert (report["damage"][-1]["record"], report["damage"][-1]["key"]) == (3, None)
    assert report["images_decoded"] == 3
    report = result_json("unpack", packed, "-o", tmp_path / "back", exit_code=3)
    assert [row["code"] for row in report["damaged"]] == ["TND-107"]
    back = tree(tmp_path / "back")
    files = {b"record-0.jpg", b"record-1.png", b"record-2.jpg", b"record-3.jpg"}
    assert set(back) == {*files, b"list.csv"}  # no folder names the classes
    assert b"record-0.jpg,cat," in back[b"list.csv"]
    assert back[b"record-2.jpg"] == (three_photos / "dog/c.jpg").read_bytes()


def test_damage_is_found_named_and_does_not_hide_the_rest(three_photos, three_packed, tmp_path):
    assert (
        tundish("pack", three_photos, "-o", three_packed, "--force", "--codec", "keep").returncode
        == 0
    )
    data = bytearray(three_packed.read_bytes())
    at = data.index((three_photos / "cat/a.jpg").read_bytes()) + 40
    data[at] ^= 1
    three_packed.write_bytes(data)
    report = result_json("verify", three_packed, exit_code=3)
    record = next(row for row in report["damage"] if row["code"] == "TND-203")
    assert (record["record"], record["key"]) == (0, "cat/a.jpg")
    assert record["offset"] is not None
    result = tundish("verify", three_packed)
    assert re.search(r"TND-203  record 0 \(cat/a\.jpg\) fails its checksum at byte", out(result))

    error = error_of("unpack", three_packed, "--record", "0", exit_code=3)
    assert error["code"] == "TND-203"
    assert (
        tundish("unpack", three_packed, "--record", "2").stdout
        == (three_photos / "dog/c.jpg").read_bytes()
    )

    report = result_json("unpack", three_packed, "-o", tmp_path / "back", exit_code=3)
    assert [row["code"] for row in report["damaged"]] == ["TND-203"]
    assert sorted(tree(tmp_path / "back")) == [b"cat/b.JPEG", b"dog/c.jpg"]
