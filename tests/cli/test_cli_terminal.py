"""What is drawn on a terminal, and what is not."""

import io
import os
import pty
import random
import re
import subprocess

import pytest
from PIL import Image

from tests.helpers.files import write
from tests.helpers.program import PROGRAM, needs_program, tundish

pytestmark = needs_program


def on_terminal(*words, env=None):
    """Runs with a terminal as stderr; returns what was drawn on it."""
    terminal, end = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    environment = {**plain, "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(env or {})}
    process = subprocess.Popen(
        [PROGRAM, *map(os.fspath, words)], stdout=subprocess.PIPE, stderr=end, env=environment
    )
    os.close(end)
    drawn = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(terminal)
    process.communicate()
    return process.returncode, drawn.decode()


@pytest.fixture
def large(tmp_path):
    """Some tenths of a second of decoding."""
    file = io.BytesIO()
    noise = random.Random(1).randbytes(1500 * 1500)
    Image.frombytes("L", (1500, 1500), noise).convert("RGB").save(file, "JPEG", quality=95)
    for i in range(20):
        write(tmp_path / f"large/c/{i}.jpg", file.getvalue())
    words = ["--codec", "keep"]  # the others decode too fast
    assert tundish("pack", tmp_path / "large", "-o", tmp_path / "large.tnd", *words).returncode == 0
    return tmp_path / "large.tnd"


def test_progress_is_drawn_on_a_terminal_only(large):
    words = ["verify", large, "--pixels", "--threads", "1"]
    code, drawn = on_terminal(*words)
    assert code == 0
    assert re.search(r"\r  .*decoding.*%.* img/s", drawn)
    assert drawn.endswith("\r\x1b[K"), "the line is wiped at the end"
    assert b"\r" not in tundish(*words).stderr
    for silent in (["--quiet"], ["--json"]):
        assert on_terminal(*words, *silent)[1] == ""
    assert "\r  " not in on_terminal(*words, env={"TERM": "dumb"})[1]


def test_colour_follows_the_terminal_and_the_variables(tmp_path):
    words = ["info", tmp_path / "no.tnd"]
    assert "\x1b[31mTND-301" in on_terminal(*words)[1]
    assert "\x1b[" not in on_terminal(*words, env={"NO_COLOR": "1"})[1]
    assert "\x1b[" not in on_terminal(*words, "--no-color")[1]
    assert "\x1b[" not in on_terminal(*words, env={"TERM": "dumb"})[1]
    assert b"\x1b[" not in tundish(*words).stderr
    assert b"\x1b[" in tundish(*words, env={**os.environ, "FORCE_COLOR": "1"}).stderr


def test_cat_does_not_write_an_image_to_a_terminal(three_packed):
    terminal, end = pty.openpty()
    result = subprocess.run([PROGRAM, "cat", three_packed, "0"], stdout=end, stderr=subprocess.PIPE)
    os.close(end)
    os.close(terminal)
    assert result.returncode == 2
    assert b"not for a terminal" in result.stderr
