"""Progress and colors appear on a terminal only; image bytes are never written to a terminal."""

import os
import pty
import re
import subprocess

import pytest

from tests.helpers import terminal
from tests.helpers.files import large_jpegs
from tests.helpers.program import PROGRAM, needs_program, tundish

pytestmark = needs_program


def on_terminal(*words, env=None):
    return terminal.on_terminal([PROGRAM, *words], env)


@pytest.fixture
def large(tmp_path):
    """A folder whose decoding takes a few tenths of a second."""
    photos = large_jpegs(tmp_path / "large")
    words = ["--codec", "keep"]  # the other codecs decode too fast
    assert tundish("pack", photos, "-o", tmp_path / "large.tnd", *words).returncode == 0
    return tmp_path / "large.tnd"


@pytest.mark.parametrize("words", [["verify", "--pixels"], ["info", "--stats"]], ids=" ".join)
def test_progress_is_drawn_on_a_terminal_only(large, words):
    words = [*words, large, "--threads", "1"]
    code, drawn = on_terminal(*words)
    assert code == 0
    assert re.search(r"\r  .*decoding.*%.* img/s", drawn)
    assert drawn.endswith("\r\x1b[K"), "the line is wiped at the end"
    assert b"\r" not in tundish(*words).stderr
    assert on_terminal(*words, "--quiet")[1] == ""
    assert "decoding" in on_terminal(*words, "--json")[1], "JSON goes to stdout"
    assert "\r  " not in on_terminal(*words, env={"TERM": "dumb"})[1]


def test_color_follows_the_terminal_and_the_variables(tmp_path):
    words = ["info", tmp_path / "no.tnd"]
    assert "\x1b[31mTND-301" in on_terminal(*words)[1]
    assert "\x1b[" not in on_terminal(*words, env={"NO_COLOR": "1"})[1]
    assert "\x1b[" not in on_terminal(*words, "--no-color")[1]
    assert "\x1b[" not in on_terminal(*words, env={"TERM": "dumb"})[1]
    assert b"\x1b[" not in tundish(*words).stderr
    assert b"\x1b[" in tundish(*words, env={**os.environ, "FORCE_COLOR": "1"}).stderr


def test_unpack_writes_no_image_to_a_terminal(three_packed):
    screen, end = pty.openpty()
    result = subprocess.run(
        [PROGRAM, "unpack", three_packed, "--record", "0"], stdout=end, stderr=subprocess.PIPE
    )
    os.close(end)
    os.close(screen)
    assert result.returncode == 2
    assert b"not for a terminal" in result.stderr
