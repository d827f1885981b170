"""Progress of tundish.pack on a terminal, in a notebook, in a log, and by callback."""

import io
import re
import sys

import numpy as np
import pytest
import tundish
from tundish.progress import progress_text

from tests.helpers.files import large_jpegs, left_behind, write
from tests.helpers.program import needs_program
from tests.helpers.terminal import on_terminal

pytestmark = needs_program


@pytest.fixture
def large_photos(tmp_path):
    return large_jpegs(tmp_path / "large", count=40)  # seconds of packing, progress every 0.1 s


def test_a_function_receives_the_progress_and_the_last_call_is_complete(three_photos, tmp_path):
    write(three_photos / "dog" / "d.jpg", b"no image")
    calls = []
    result = tundish.pack(three_photos, tmp_path / "a.tnd", progress=calls.append, skip_bad=True)
    assert result["samples"] == 3
    keys = {"samples", "samples_total", "bytes", "bytes_total", "refused"}
    assert all(set(call) == keys for call in calls)
    last = calls[-1]
    assert (last["samples"], last["samples_total"], last["refused"]) == (4, 4, 1)
    assert last["bytes"] == last["bytes_total"] > 0


@pytest.mark.parametrize("progress", [False, lambda done: None])
def test_warnings_of_the_program_are_shown_without_a_terminal(progress, tmp_path, capfd):
    """In a notebook or a log, nobody else would tell that the labels are missing."""
    images, labels = np.zeros((4, 8, 8, 3), np.uint8), np.zeros(4, np.float32)
    np.savez(tmp_path / "a.npz", images=images, labels=labels)
    tundish.pack(tmp_path / "a.npz", tmp_path / "a.tnd", progress=progress)
    packing = capfd.readouterr().err
    tundish.convert(tmp_path / "a.npz", tmp_path / "a.tar", "tar", progress=progress)
    converting = capfd.readouterr().err
    for text in (packing, converting):
        assert text.startswith("warning: ")
        assert "'labels' is called as one" in text
        assert text.count("\n") == 1


def test_an_error_of_the_program_is_raised_when_progress_is_shown(three_photos, tmp_path):
    (tmp_path / "a.tnd").write_bytes(b"mine")
    with pytest.raises(tundish.Error, match="exists already"):
        tundish.pack(three_photos, tmp_path / "a.tnd", progress=print)


def test_an_exception_of_the_function_ends_the_packing(large_photos, tmp_path):
    def stop(amount):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        tundish.pack(large_photos, tmp_path / "a.tnd", threads=1, progress=stop)
    kept = {".a.tnd.journal", ".a.tnd.partial"}  # the next pack resumes from these files
    assert set(left_behind(tmp_path, "large")) <= kept
    tundish.pack(large_photos, tmp_path / "a.tnd", threads=1, progress=False)
    assert left_behind(tmp_path, "large", "a.tnd") == []


def test_with_progress_true_a_log_gets_a_line(three_photos, tmp_path, capsys):
    tundish.pack(three_photos, tmp_path / "a.tnd", progress=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("packing   100 %   3 of 3 images")


def test_a_notebook_shows_one_line_that_is_redrawn(three_photos, tmp_path, monkeypatch):
    class OutStream(io.StringIO):
        pass

    OutStream.__module__ = "ipykernel.iostream"
    stream = OutStream()
    monkeypatch.setattr(sys, "stderr", stream)
    tundish.pack(three_photos, tmp_path / "a.tnd")
    text = stream.getvalue()
    assert text.startswith("\rpacking")
    assert text.endswith("\n")
    assert "\n" not in text[:-1]
    assert "3 of 3 images" in text.split("\r")[-1]


def test_the_line_has_share_rate_time_left_and_refusals():
    amount = {"samples": 50, "samples_total": 100, "bytes": 25, "bytes_total": 100, "refused": 0}
    assert (
        progress_text(amount, 10) == "packing   25 %   50 of 100 images   5.0 images/s   30 s left"
    )
    amount |= {"samples_total": 0, "bytes_total": 0, "refused": 2}
    assert progress_text(amount, 10) == "packing   50 images   5.0 images/s   2 refused"


ON_TERMINAL = """
import sys, tundish
progress = {"none": None, "true": True, "false": False}[sys.argv[3]]
tundish.pack(sys.argv[1], sys.argv[2], threads=1, progress=progress)
"""


@pytest.mark.parametrize(("progress", "drawn"), [("none", True), ("true", True), ("false", False)])
def test_on_a_terminal_the_program_draws_the_progress(large_photos, tmp_path, progress, drawn):
    words = [sys.executable, "-c", ON_TERMINAL, large_photos, tmp_path / "a.tnd", progress]
    assert bool(re.search(r"\r  .*packing.* img/s", on_terminal(words)[1])) == drawn
