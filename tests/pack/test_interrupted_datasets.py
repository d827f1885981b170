"""Ctrl-C while the calling process packs a Python dataset."""

import signal
import subprocess
import sys
import time

import pytest

from tests.helpers.program import ROOT

CODE = """
import sys, threading, time
from pathlib import Path
import tundish
from tests.helpers.python_sets import Arrays

class Blocks(Arrays):
    def __getitem__(self, number):
        if threading.current_thread() is not threading.main_thread() and number == 30:
            Path(sys.argv[1]).touch()
            threading.Event().wait()  # never returns, like a read from a dead network disk
        return super().__getitem__(number)

try:
    tundish.pack(Blocks(), sys.argv[2], processes=0, progress=eval(sys.argv[3]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("progress", ["False", "True", "lambda amount: None"])
def test_ctrl_c_ends_a_pack_whose_data_set_blocks(tmp_path, progress):
    blocked, output = tmp_path / "blocked", tmp_path / "a.tnd"
    argv = [sys.executable, "-c", CODE, blocked, output, progress]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(argv, cwd=ROOT, **pipes)
    try:
        while not blocked.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)  # a regression would hang
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out) == (0, "interrupted\n"), error
    assert not output.exists()
