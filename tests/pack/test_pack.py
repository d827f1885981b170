"""tundish.pack: the program's functions from Python."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import tundish
from tundish import packing

from tests.helpers.files import endless_tar, has_open, left_behind, write
from tests.helpers.program import documented_keys, needs_program
from tests.helpers.program import tundish as program

pytestmark = needs_program


def test_a_folder_is_packed_and_the_programs_result_is_returned(three_photos, tmp_path):
    out = tmp_path / "train.tnd"
    result = tundish.pack(three_photos, out)
    assert set(result) == documented_keys("pack")
    assert (result["samples"], result["refused"], result["output"]) == (3, [], str(out))
    assert len(tundish.Dataset(out)) == 3
    again = tmp_path / "again.tnd"
    assert program("pack", three_photos, "-o", again).returncode == 0
    assert again.read_bytes() == out.read_bytes()


def test_keywords_are_the_programs_flags(three_photos, tmp_path):
    out = tmp_path / "train.tnd"
    options = {"codec": "keep", "threads": 1, "force": False, "lanes_tables": None}
    result = tundish.pack(three_photos, out, **options)
    assert set(result["codecs"]) == {"jpeg", "png"}
    assert tundish.pack(three_photos, out, dry_run=True, force=True)["dry_run"] is True
    assert packing._flags({"max_growth": 1.1, "force": True, "skip_bad": False, "codec": None}) == [
        "--max-growth=1.1",
        "--force",
    ]


def test_an_error_of_the_program_is_raised_with_its_code(three_photos, tmp_path):
    out = tmp_path / "train.tnd"
    out.write_bytes(b"mine")
    with pytest.raises(tundish.Error, match="exists already") as caught:
        tundish.pack(three_photos, out)
    assert caught.value.code == "TND-506"
    assert out.read_bytes() == b"mine"
    with pytest.raises(tundish.MissingError, match="does not exist"):
        tundish.pack(tmp_path / "nothing", tmp_path / "b.tnd")
    with pytest.raises(FileNotFoundError):
        tundish.pack(tmp_path / "-nothing", tmp_path / "b.tnd")


@pytest.mark.parametrize("options", [{"color": "red"}, {"max_growth": "much"}])
def test_an_option_that_the_program_refuses_is_an_argument_error(three_photos, tmp_path, options):
    (name,) = options
    with pytest.raises(tundish.ArgumentError, match=name.replace("_", "-")) as caught:
        tundish.pack(three_photos, tmp_path / "train.tnd", **options)
    assert isinstance(caught.value, ValueError)
    assert not (tmp_path / "train.tnd").exists()


def test_refused_files_are_an_error_unless_they_may_be_left_out(three_photos, tmp_path):
    write(three_photos / "dog" / "d.jpg", b"no image")
    out = tmp_path / "train.tnd"
    with pytest.raises(tundish.Error, match=r"dog/d.jpg(.*\n)+.*the other 3") as caught:
        tundish.pack(three_photos, out)
    assert caught.value.code == "TND-401"
    assert len(tundish.Dataset(out)) == 3
    result = tundish.pack(three_photos, out, force=True, skip_bad=True)
    assert [one["key"] for one in result["refused"]] == ["dog/d.jpg"]


def test_pack_prints_nothing_without_a_terminal(three_photos, tmp_path, capfd):
    tundish.pack(three_photos, tmp_path / "train.tnd")
    assert capfd.readouterr() == ("", "")


def test_a_program_that_dies_is_reported(three_photos, tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no memory >&2\nkill -9 $$\n")
    broken.chmod(0o755)
    monkeypatch.setattr(packing, "find_program", lambda: str(broken))
    with pytest.raises(tundish.Error, match=r"ended with -9 and no result: no memory"):
        tundish.pack(three_photos, tmp_path / "train.tnd")


def test_without_the_program_the_error_has_a_fix(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(tundish.MissingError, match=r"no program at .*\n  fix: run ./dev build"):
        tundish.pack(tmp_path, tmp_path / "train.tnd")


def children_with(parent, file):
    """Returns the /proc folders of a process's children that have a file open."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"PPid:\t{parent}\n" in (folder / "status").read_text()
        except OSError:  # the process has exited meanwhile
            continue
        if ours and has_open(SimpleNamespace(pid=folder.name), file):
            found.append(folder)
    return found


PACK = """
import subprocess, sys, tundish
wait = subprocess.Popen.communicate
def communicate(self):
    print("ready", flush=True)
    return wait(self)
subprocess.Popen.communicate = communicate
tundish.pack(sys.argv[1], sys.argv[2])
"""


def test_ctrl_c_for_python_alone_ends_the_program_too(tmp_path):
    tar = endless_tar(tmp_path / "endless.tar.bz2")
    words = [sys.executable, "-c", PACK, tar, tmp_path / "train.tnd"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True) as python:
        try:
            assert python.stdout.readline() == "ready\n"
            while not (programs := children_with(python.pid, tar)):
                assert python.poll() is None
                time.sleep(0.01)
            python.send_signal(signal.SIGINT)
            _, messages = python.communicate(timeout=60)
        finally:
            python.kill()
    assert "KeyboardInterrupt" in messages
    assert not any(folder.exists() for folder in programs)
    assert left_behind(tmp_path, tar.name) == []
