"""`tundish pack` refuses, names and counts files and sources that are not images."""

import io
import json
import random
import re
import shutil

import pytest
from PIL import Image

from tests.helpers.files import jpeg, left_behind, write
from tests.helpers.program import err, error_of, needs_program, out, result_json, tundish

pytestmark = needs_program


def test_a_folder_without_images_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "notes/cat/readme.txt", b"no image")
    for name in ("empty", "notes"):
        error = error_of("pack", tmp_path / name, "-o", tmp_path / "a.tnd", exit_code=1)
        assert error["code"] == "TND-302"
    assert left_behind(tmp_path, "empty", "notes") == []


def test_a_source_of_no_known_kind_is_refused(tmp_path):
    write(tmp_path / "a.docx", b"PK")
    error = error_of("pack", tmp_path / "a.docx", "-o", tmp_path / "a.tnd", exit_code=1)
    assert error["code"] == "TND-304"


@pytest.fixture
def bad_photos(three_photos):
    """Twelve files that must be refused, beside the three valid ones."""
    write(three_photos / "cat/empty.jpg", b"")
    write(three_photos / "cat/page.jpg", b"<!DOCTYPE html><html>404</html>")
    (three_photos / "cat/gone.jpg").symlink_to("nowhere.jpg")
    for i in range(9):
        write(three_photos / f"dog/noise{i}.png", bytes(range(7)) * (i + 1))
    return three_photos


def test_refused_files_are_named_counted_and_left_out(bad_photos, tmp_path):
    result = tundish("pack", bad_photos, "-o", tmp_path / "a.tnd")
    assert result.returncode == 3
    assert err(result).count("refused: TND-") == 10
    assert "2 more" in err(result)
    log = (tmp_path / "a.tnd.log").read_text()
    for name in ("empty.jpg", "page.jpg", "gone.jpg", "noise8.png"):
        assert name in log
    # Refused files are not numbered as records of the pack.
    assert "record" not in log.replace(str(tmp_path), "")
    assert log.startswith("# refused by tundish pack: 12 of 15 samples\n")
    assert re.search(r"^  refused +12, all named in .*a\.tnd\.log$", out(result), re.M)
    assert result_json("info", tmp_path / "a.tnd")["records"] == 3
    assert tundish("verify", tmp_path / "a.tnd", "--pixels").returncode == 0
    assert left_behind(tmp_path, "photos", "a.tnd", "a.tnd.log") == []


def test_quiet_still_names_the_files_behind_the_exit_code(bad_photos, tmp_path):
    result = tundish("pack", bad_photos, "-o", tmp_path / "a.tnd", "--quiet")
    assert result.returncode == 3
    assert out(result) == ""
    assert err(result).count("tundish: refused: TND-") == 10
    assert "tundish: refused: 2 more" in err(result)
    result = tundish("pack", bad_photos, "-o", tmp_path / "b.tnd", "--quiet", "--skip-bad")
    assert (result.returncode, out(result), err(result)) == (0, "", "")
    words = ["convert", bad_photos, "-o", tmp_path / "out.tar", "--to", "tar", "--quiet"]
    assert "tundish: TND-310" in err(tundish(*words))


def test_refused_files_have_codes_in_the_report(bad_photos, tmp_path):
    report = result_json("pack", bad_photos, "-o", tmp_path / "a.tnd", exit_code=3)
    codes = {row["key"]: row["code"] for row in report["refused"]}
    assert len(codes) == 12
    assert codes["cat/empty.jpg"] == "TND-310"
    assert codes["cat/page.jpg"] == "TND-401"
    assert codes["cat/gone.jpg"] == "TND-301"
    assert all(set(row) == {"sample", "key", "code", "message"} for row in report["refused"])


def test_skip_bad_exits_with_0_despite_refusals(bad_photos, tmp_path):
    words = ["pack", bad_photos, "-o", tmp_path / "a.tnd", "--skip-bad"]
    assert tundish(*words).returncode == 0
    assert (tmp_path / "a.tnd.log").exists()
    shutil.rmtree(bad_photos / "dog")
    for name in ("empty", "page", "gone"):
        (bad_photos / f"cat/{name}.jpg").unlink()
    assert tundish(*words, "--force").returncode == 0
    assert not (tmp_path / "a.tnd.log").exists(), "a log of an older pack misleads"


def test_a_file_at_the_name_of_the_log_is_kept_unless_forced(bad_photos, tmp_path):
    log = tmp_path / "a.tnd.log"
    log.write_bytes(b"my notes")
    words = ("pack", bad_photos, "-o", tmp_path / "a.tnd")
    error = error_of(*words, exit_code=1)
    assert (error["code"], error["file"]) == ("TND-506", str(log))
    assert log.read_bytes() == b"my notes"
    assert left_behind(tmp_path, "photos", "a.tnd.log") == []
    assert tundish(*words, "--force").returncode == 3
    assert log.read_bytes().startswith(b"# refused by tundish pack: 12 of 15")
    (tmp_path / "a.tnd").unlink()
    assert tundish(*words).returncode == 3, "an older log of tundish is replaced"
    (tmp_path / "b.tnd.log").mkdir()
    assert tundish("pack", bad_photos, "-o", tmp_path / "b.tnd", "--force").returncode == 2
    assert left_behind(tmp_path, "photos", "a.tnd", "a.tnd.log", "b.tnd.log") == []


def test_images_that_cannot_be_decoded_here_are_counted_when_packed(three_photos, tmp_path):
    file = io.BytesIO()
    Image.new("RGB", (9, 9)).save(file, "TIFF")
    write(three_photos / "cat/w.tiff", file.getvalue())
    result = tundish("pack", three_photos, "-o", tmp_path / "a.tnd")
    assert result.returncode == 0
    assert "1 of 4 images are in a format that cannot be decoded" in err(result)


def test_only_bad_files_make_no_pack(tmp_path):
    write(tmp_path / "set/cat/a.jpg", b"")
    error = error_of("pack", tmp_path / "set", "-o", tmp_path / "a.tnd", exit_code=1)
    assert error["code"] == "TND-323"
    assert "why: its only sample was refused: TND-310" in error["message"]
    assert [error["message"].count(word) for word in ("why:", "fix:", "FOLDER/CLASS")] == [1, 1, 0]
    write(tmp_path / "set/cat/b.jpg", b"<html>")
    error = error_of("pack", tmp_path / "set", "-o", tmp_path / "a.tnd", exit_code=1)
    assert "why: all 2 samples were refused; the first: TND-310" in error["message"]
    assert left_behind(tmp_path, "set") == []


def test_an_image_with_a_wrong_size_in_its_header_is_named(three_photos, tmp_path):
    lying = bytearray(jpeg())
    at = lying.index(b"\xff\xc0") + 5
    lying[at : at + 4] = b"\xff\xff\xff\xff"  # 65,535 x 65,535 pixels
    write(three_photos / "cat/lying.jpg", bytes(lying))
    result = tundish("pack", three_photos, "-o", tmp_path / "a.tnd", "--json")
    report = json.loads(result.stdout)
    named = report["refused"] + report["doubtful"]
    assert [(row["key"], row["code"]) for row in named] == [("cat/lying.jpg", "TND-404")]


def test_all_counts_of_a_pack_with_broken_and_unknown_images_agree(three_photos, tmp_path):
    write(three_photos / "cat/header.jpg", jpeg()[:20])
    write(three_photos / "cat/cut.jpg", jpeg()[:-20])
    write(three_photos / "cat/w.gif.tiff", b"II*\0" + bytes(20))
    report = result_json("pack", three_photos, "-o", tmp_path / "a.tnd")
    info = result_json("info", tmp_path / "a.tnd")
    assert report["codecs"] == {"lanes": 2, "png": 1, "jpeg": 2, "as it came": 1}
    assert info["codecs"] == report["codecs"]
    assert sum(info["codecs"].values()) == info["records"] == report["samples"] == 6
    assert report["lanes"]["kept"] == info["lanes"]["kept"] == {"corrupt": 2}
    assert report["kept_as_they_came"] == 1
    text = out(tundish("pack", three_photos, "-o", tmp_path / "b.tnd"))
    assert "2 jpeg" in text
    assert "2 kept as JPEG (corrupt 2)" in text


@pytest.fixture
def cut_photos(three_photos):
    """Twelve truncated JPEGs and a truncated CMYK JPEG, which is not re-coded, and valid files."""
    noise = random.Random(2).randbytes(3 * 64 * 64)
    for i in range(13):
        file = io.BytesIO()
        kind = "CMYK" if i == 12 else "RGB"
        Image.frombytes("RGB", (64, 64), noise).convert(kind).save(file, "JPEG")
        content = file.getvalue()
        write(three_photos / f"dog/cut{i:02}.jpg", content[: len(content) // 2])
    return three_photos


def test_truncated_jpegs_are_packed_and_named(cut_photos, tmp_path):
    result = tundish("pack", cut_photos, "-o", tmp_path / "a.tnd")
    assert result.returncode == 0
    assert err(result).count("packed, but broken: TND-406") == 10
    assert "packed, but broken: 3 more" in err(result)
    assert "why: the data end before the last row\n  fix: fetch it again or remove it" in err(
        result
    )
    assert re.search(r"^  broken +13, packed as they are, all named in .*\.log$", out(result), re.M)
    log = (tmp_path / "a.tnd.log").read_text()
    assert log.count("packed, but broken: TND-406") == 13
    assert all(f"dog/cut{i:02}.jpg is an image cut short" in log for i in range(13))
    assert result_json("info", tmp_path / "a.tnd")["records"] == 16


def test_broken_images_are_all_in_the_report(cut_photos, tmp_path):
    report = result_json("pack", cut_photos, "-o", tmp_path / "a.tnd")
    assert [row["key"] for row in report["doubtful"]] == [f"dog/cut{i:02}.jpg" for i in range(13)]
    assert {row["code"] for row in report["doubtful"]} == {"TND-406"}
    assert report["refused"] == []
    verified = result_json("verify", tmp_path / "a.tnd", "--pixels", exit_code=3)
    assert [row["key"] for row in verified["damage"]] == [row["key"] for row in report["doubtful"]]
