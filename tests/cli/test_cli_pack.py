"""`tundish pack`: the files it writes, its output, and the files it leaves untouched."""

import re

from tests.helpers.files import jpeg, left_behind, write
from tests.helpers.program import documented_keys, err, needs_program, out, result_json, tundish

pytestmark = needs_program


def test_pack_prints_what_it_reads_and_what_it_made(three_photos, tmp_path):
    result = tundish("pack", three_photos, "-o", tmp_path / "train.tnd")
    assert result.returncode == 0
    assert re.search(r"^  reading +image folder, 2 classes, 3 samples", err(result), re.M)
    assert re.search(r"^  done +.*train\.tnd  .*3 samples \(1 png, 2 lanes\)", out(result), re.M)
    assert re.search(r"^  lanes +2 JPEGs re-coded to .* byte for byte", out(result), re.M)
    assert re.search(r"^  next +tundish bench ", out(result), re.M)
    assert left_behind(tmp_path, "photos", "train.tnd") == []


def test_one_sample_of_one_class_is_counted_in_the_singular(tmp_path):
    write(tmp_path / "photos/cat/1.jpg", jpeg())
    result = tundish("pack", tmp_path / "photos", "-o", tmp_path / "train.tnd")
    assert re.search(r"^  reading +image folder, 1 class, 1 sample, ", err(result), re.M)
    assert re.search(r"^  done +.*, 1 sample \(1 lanes\) in ", out(result), re.M)
    assert re.search(r"^  lanes +1 JPEG re-coded to ", out(result), re.M)
    text = out(tundish("verify", tmp_path / "train.tnd", "--pixels"))
    assert "  1 record, " in text
    assert "; 1 image decoded" in text
    text = out(tundish("unpack", tmp_path / "train.tnd", "-o", tmp_path / "again"))
    assert "  1 file, " in text


def test_pack_prints_the_documented_keys(three_photos, tmp_path):
    report = result_json("pack", three_photos, "-o", tmp_path / "train.tnd")
    assert set(report) == documented_keys("pack")
    assert report["samples"] == 3
    assert report["codecs"] == {"lanes": 2, "png": 1}
    assert report["lanes"]["images"] == 2
    assert report["lanes"]["kept"] == {}
    assert report["refused"] == []
    assert report["log"] is None
    assert report["file_bytes"] == (tmp_path / "train.tnd").stat().st_size


def test_a_dry_run_writes_nothing(three_photos, tmp_path):
    report = result_json("pack", three_photos, "-o", tmp_path / "train.tnd", "--dry-run")
    assert set(report) == documented_keys("pack")
    assert report["dry_run"] is True
    assert report["samples"] == 3
    assert left_behind(tmp_path, "photos") == []


def test_pack_replaces_a_file_only_with_force(three_photos, three_packed):
    before = three_packed.read_bytes()
    write(three_photos / "dog/d.jpg", jpeg((9, 9, 9)))
    result = tundish("pack", three_photos, "-o", three_packed)
    assert result.returncode == 1
    assert "TND-506" in err(result)
    assert "--force" in err(result)
    assert three_packed.read_bytes() == before
    assert tundish("pack", three_photos, "-o", three_packed, "--force").returncode == 0
    assert result_json("info", three_packed)["records"] == 4


def test_the_same_input_gives_the_same_bytes(three_photos, three_packed, tmp_path):
    for threads in ("1", "2", "5"):
        again = tmp_path / f"again{threads}.tnd"
        assert tundish("pack", three_photos, "-o", again, "--threads", threads).returncode == 0
        assert again.read_bytes() == three_packed.read_bytes()


def test_quiet_prints_nothing_when_all_is_well(three_photos, tmp_path):
    result = tundish("pack", three_photos, "-o", tmp_path / "a.tnd", "--quiet")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    result = tundish("verify", tmp_path / "a.tnd", "--quiet")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_a_class_folder_without_images_is_a_warning(three_photos, tmp_path):
    (three_photos / "emu").mkdir()
    result = tundish("pack", three_photos, "-o", tmp_path / "a.tnd")
    assert result.returncode == 0
    assert "emu" in err(result)
    assert result_json("info", tmp_path / "a.tnd")["classes"] == ["cat", "dog", "emu"]
    report = result_json("pack", three_photos, "-o", tmp_path / "b.tnd")
    assert "emu" in report["warnings"][0]


def test_the_hint_for_a_name_with_spaces_can_be_typed(three_photos, tmp_path):
    result = tundish("pack", three_photos, "-o", "my pack.tnd", cwd=tmp_path)
    assert "tundish bench 'my pack.tnd'" in out(result)
