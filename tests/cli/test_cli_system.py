"""Paths, permissions and disks that prevent the program from working."""

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.helpers.files import left_behind, tree, write
from tests.helpers.program import PROGRAM, err, error_of, needs_program, out, result_json, tundish

pytestmark = needs_program


def test_a_missing_source_is_named(tmp_path):
    for words in (["pack", tmp_path / "no", "-o", tmp_path / "a.tnd"], ["info", tmp_path / "no"]):
        error = error_of(*words, exit_code=1)
        assert error["code"] == "TND-301"
        assert error["file"] == str(tmp_path / "no")
    assert error_of("verify", tmp_path / "no.tnd", exit_code=1)["code"] == "TND-301"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words", [["verify"], ["info"], ["info", "--list"], ["unpack"]], ids=" ".join
)
def test_a_pipe_is_refused_and_not_waited_for(words, tmp_path):
    os.mkfifo(tmp_path / "pipe.tnd")
    more = ["-o", tmp_path / "out"] if words == ["unpack"] else []
    result = subprocess.run(
        [PROGRAM, *words, tmp_path / "pipe.tnd", *more], capture_output=True, timeout=60
    )
    assert result.returncode in (1, 3)
    assert re.search(r"TND-(101|304)", out(result) + err(result))


def test_messages_suggest_a_remedy(three_photos, three_packed, tmp_path):
    error = error_of("pack", three_photos, "-o", three_packed / "x.tnd", exit_code=2)
    assert "Not a directory" in error["reason"]
    result = tundish("verify", three_photos)
    assert result.returncode == 3
    assert "it is a folder" in err(result)
    assert "tundish pack FOLDER" in err(result)
    write(tmp_path / "junk", b"junk" * 99)
    for words in (["verify", tmp_path / "junk"], ["verify", "-q", tmp_path / "junk"]):
        result = tundish(*words)
        assert (result.returncode, result.stdout) == (3, b"")
        assert "TND-101" in err(result)
        assert "on_error" not in err(result)
    result = tundish("pack", tmp_path / "junk", "-o", tmp_path / "a.tnd")
    assert "use a folder like" in err(result)
    for entry in result_json("explain", "--all"):
        assert "{" not in entry["fix"]


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
def test_missing_permissions_are_errors(three_photos):
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        shutil.copytree(three_photos, folder / "photos")
        shutil.copy(PROGRAM, folder / "tundish")
        (folder / "photos/cat/a.jpg").chmod(0)

        def as_nobody(*words):
            words = [folder / "tundish", *words, "--json"]
            return subprocess.run(words, capture_output=True, cwd=folder, user=65534, group=65534)

        result = as_nobody("pack", "photos", "-o", "a.tnd")
        assert result.returncode == 1
        assert json.loads(result.stdout)["error"]["code"] == "TND-504"
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        result = as_nobody("pack", "photos", "-o", "open/a.tnd")
        assert result.returncode == 3
        assert [row["code"] for row in json.loads(result.stdout)["refused"]] == ["TND-504"]
        (folder / "photos/dog").chmod(0)
        result = as_nobody("pack", "photos", "-o", "open/b.tnd")
        assert result.returncode == 1
        assert "photos/dog" in result.stderr.decode()
        result = as_nobody("unpack", "open/a.tnd", "-o", "back")
        assert result.returncode == 1
        assert json.loads(result.stdout)["error"]["code"] == "TND-504"
        assert sorted(os.listdir(folder / "open")) == ["a.tnd", "a.tnd.log"]
    finally:
        shutil.rmtree(folder)


def test_a_missing_folder_for_the_output_is_an_error(three_photos, tmp_path):
    error = error_of("pack", three_photos, "-o", tmp_path / "no/such/a.tnd", exit_code=1)
    assert (error["code"], error["file"]) == ("TND-301", f"{tmp_path}/no/such/")
    result = tundish("pack", three_photos, "-o", tmp_path)
    assert result.returncode == 2
    assert "is a folder" in err(result)


def small_files_only():
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))


def test_a_full_disk_leaves_nothing_behind(three_photos, three_packed, tmp_path):
    before = three_packed.read_bytes()
    words = [PROGRAM, "pack", three_photos, "-o", three_packed, "--force"]
    result = subprocess.run(words, capture_output=True, preexec_fn=small_files_only)
    assert result.returncode == 1
    assert "TND-503" in err(result)
    assert three_packed.read_bytes() == before
    words = [PROGRAM, "unpack", three_packed, "-o", tmp_path / "back"]
    result = subprocess.run(words, capture_output=True, preexec_fn=small_files_only)
    assert result.returncode == 1
    assert "TND-503" in err(result)
    whole = tree(three_photos)
    assert all(data == whole[name] for name, data in tree(tmp_path / "back").items())
    assert left_behind(tmp_path, "photos", "train.tnd", "back") == []


def test_a_full_standard_output_is_a_failure(three_packed):
    for words in (
        ["info", "--list", three_packed],
        ["info", three_packed],
        ["unpack", three_packed, "--record", "0"],
        ["--help"],
    ):
        with open("/dev/full", "wb") as full:
            result = tundish(*words, stdout=full, stderr=subprocess.PIPE, capture_output=False)
        assert result.returncode == 1
        assert "TND-503 standard output" in err(result)
