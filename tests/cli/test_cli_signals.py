"""Closed pipes and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.helpers.files import endless_tar, has_open, jpeg, large_jpegs, left_behind, write
from tests.helpers.program import PROGRAM, needs_program, tundish

pytestmark = needs_program


def test_a_closed_pipe_ends_the_program_without_noise(three_packed):
    reading, writing = os.pipe()
    os.close(reading)
    result = tundish(
        "info", "--list", three_packed, stdout=writing, stderr=subprocess.PIPE, capture_output=False
    )
    os.close(writing)
    assert result.returncode == -signal.SIGPIPE
    assert result.stderr == b""


def test_a_closed_stderr_pipe_does_not_stop_a_pack(three_photos, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    words = ["pack", three_photos, "-o", tmp_path / "a.tnd"]
    result = tundish(*words, stdout=subprocess.PIPE, stderr=writing, capture_output=False)
    os.close(writing)
    assert result.returncode == 0
    assert tundish("verify", tmp_path / "a.tnd").returncode == 0


@pytest.fixture
def many(tmp_path):
    """Enough files for a signal to arrive while the program works."""
    write(tmp_path / "many/c/0.jpg", jpeg())
    for i in range(1, 3000):
        os.link(tmp_path / "many/c/0.jpg", tmp_path / f"many/c/{i}.jpg")
    return tmp_path / "many"


def interrupt_after_first_line(words):
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    try:
        stdout, stderr = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, stdout, first + stderr


def test_ctrl_c_ends_a_pack_and_leaves_the_old_state(many, tmp_path):
    (tmp_path / "old.tnd").write_bytes(b"old")
    for _ in range(20):  # the signal may arrive too late
        words = ["pack", many, "-o", tmp_path / "old.tnd", "--force"]
        code, _, stderr = interrupt_after_first_line(words)
        hidden = {".old.tnd.partial", ".old.tnd.journal"}  # the next run resumes from these files
        left = set(left_behind(tmp_path, "many", "old.tnd"))
        assert left in (set(), hidden)
        assert (b"are packed and kept; the same command goes on from there" in stderr) == bool(left)
        if code == 130:
            break
        assert code == 0
        (tmp_path / "old.tnd").write_bytes(b"old")
    assert code == 130
    assert (tmp_path / "old.tnd").read_bytes() == b"old"
    assert b"TND-507" in stderr
    assert b"was interrupted" in stderr


@pytest.mark.parametrize("verb", ["info", "pack"])
def test_ctrl_c_ends_the_opening_of_a_large_archive(tmp_path, verb):
    source = endless_tar(tmp_path / "a.tar.bz2")
    words = ["pack", source, "-o", tmp_path / "a.tnd"] if verb == "pack" else ["info", source]
    with subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            while not has_open(process, source):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, stdout) == (130, b"")
    assert b"TND-507" in stderr
    assert left_behind(tmp_path, "a.tar.bz2") == []


def test_ctrl_c_ends_the_statistics_before_all_images_are_decoded(tmp_path):
    photos = large_jpegs(tmp_path / "photos", count=1)
    for i in range(1, 3000):
        os.link(photos / "c/0.jpg", photos / f"c/{i}.jpg")
    with subprocess.Popen(
        [PROGRAM, "info", "--stats", photos], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            while not has_open(process, photos / "c/0.jpg"):  # all names link to one file
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, stdout) == (130, b"")
    assert b"TND-507" in stderr


def test_ctrl_c_ends_a_benchmark(three_packed):
    code, stdout, stderr = interrupt_after_first_line(["bench", three_packed, "--seconds", "600"])
    assert code == 130
    assert stdout == b""
    assert b"TND-507" in stderr


IGNORED = """
import signal
names = ("SIGINT", "SIGTERM", "SIGHUP")
print([name for name in names if signal.getsignal(getattr(signal, name)) == signal.SIG_IGN])
"""


@pytest.mark.parametrize("verb", [["doctor", "-q", "--", sys.executable], ["run", "-q"]])
def test_a_signal_that_is_ignored_stays_ignored(verb, tmp_path):
    """Signals are ignored under nohup and for `tundish doctor ... &` in a shell script."""
    script = tmp_path / "train.py"
    script.write_text(IGNORED)

    def ignore():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    result = subprocess.run([PROGRAM, *verb, script], capture_output=True, preexec_fn=ignore)
    assert result.stdout == b"['SIGINT', 'SIGTERM', 'SIGHUP']\n", result.stderr


def test_the_doctor_starts_commands_with_default_signals():
    """Python ignores SIGPIPE; a pipeline that ends early needs the default action."""
    words = [PROGRAM, "doctor", "-q", "--", "bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}"]
    result = subprocess.run(words, capture_output=True)
    assert (result.stdout, result.stderr) == (b"y\n141\n", b"")


@pytest.mark.parametrize(
    ("words", "code"),
    [(["check", "--list"], 1), (["run", "--dry-run", __file__], 1), (["tune", "--help"], 1)],
)
def test_a_stdout_that_was_closed_is_an_error_and_no_traceback(words, code):
    result = subprocess.run(["bash", "-c", '"$@" >&-', "", PROGRAM, *words], capture_output=True)
    assert result.returncode == code
    assert result.stderr == b"tundish: standard output: [Errno 9] Bad file descriptor\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "no-such-file.py"], 2),
        (["run", "no-such-file.py"], 2),
        (["tune", "no-such-file.py:build"], 2),
        (["doctor", "--", "bash", "-c", "exit 7"], 7),
    ],
)
def test_a_stderr_that_was_closed_changes_no_exit_code(words, code):
    result = subprocess.run(["bash", "-c", '"$@" 2>&-', "", PROGRAM, *words], capture_output=True)
    assert (result.returncode, result.stdout) == (code, b"")
