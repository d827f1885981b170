"""Ctrl-C at any moment of `tundish doctor` gives exit code 130 and no traceback of tundish."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tundish.diagnosis.probe as watch

from tests.helpers.program import PROGRAM

SCRIPT = """import time
print('begins', flush=True)
for _ in range(400):
    time.sleep(0.05)
print('ends')
"""


def interrupt(words, seconds):
    """Sends SIGINT to the command's process group after a delay; returns exit code and output."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as one:
        time.sleep(seconds)
        os.killpg(one.pid, signal.SIGINT)
        out, error = one.communicate(timeout=100)
    return one.returncode, out, error


@pytest.mark.parametrize("seconds", [0.1, 0.2, 0.4, 0.6, 0.8, 1.0])
def test_ctrl_c_right_after_the_start_gives_no_traceback(tmp_path, seconds):
    (tmp_path / "a.py").write_text(SCRIPT)
    words = [PROGRAM, "doctor", "--", sys.executable, tmp_path / "a.py"]
    code, out, error = interrupt(words, seconds)
    assert "ends" not in out
    assert os.path.dirname(os.path.dirname(watch.__file__)) not in error
    if "<frozen site>" in error:  # before Python has loaded tundish: the same without the doctor
        assert "interrupted before PyTorch was imported" in error
    else:
        assert code == 130 or (code, error) == (-signal.SIGINT, ""), error


def test_killing_the_doctor_ends_the_script():
    text = "import os, time; print(os.getpid(), flush=True); time.sleep(300)"
    words = [sys.executable, "-m", "tundish", "doctor", "--", sys.executable, "-c", text]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as doctor:
        script = os.pidfd_open(int(doctor.stdout.readline()))
        doctor.kill()
        ended, _, _ = select.select([script], [], [], 60)
        if not ended:
            signal.pidfd_send_signal(script, signal.SIGKILL)
        os.close(script)
    assert ended


def test_the_folder_of_a_doctor_that_was_killed_is_removed_by_the_next_one(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    text = "print(1, flush=True); input()"
    words = [sys.executable, "-m", "tundish", "doctor", "--", sys.executable, "-c", text]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": environment}
    with subprocess.Popen(words, **pipes) as alive:
        assert alive.stdout.readline()
        (own,) = tmp_path.iterdir()
        with subprocess.Popen(words, **pipes) as killed:
            assert killed.stdout.readline()
            killed.kill()
        assert len(list(tmp_path.iterdir())) == 2
        subprocess.run([*words[:-1], "pass"], env=environment, check=False, capture_output=True)
        assert list(tmp_path.iterdir()) == [own], "the other doctor still uses it"
        alive.communicate(b"\n")
    assert list(tmp_path.iterdir()) == []


def test_the_command_has_the_signals_that_the_doctor_was_started_with():
    text = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(2))"
    plain = [sys.executable, "-c", text]
    for prepare in (None, with_a_pending_signal, ignore_interrupts):
        lines = [
            subprocess.run(words, capture_output=True, text=True, preexec_fn=prepare).stdout
            for words in (plain, [sys.executable, "-m", "tundish", "doctor", "--", *plain])
        ]
        assert lines[0] == lines[1] != ""


def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def with_a_pending_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.kill(os.getpid(), signal.SIGUSR1)


def with_a_pending_interrupt():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.kill(os.getpid(), signal.SIGINT)


def test_the_program_holds_ctrl_c_back_until_the_imports_are_done():
    words = [sys.executable, "-m", "tundish", "doctor", "--", sys.executable, "-c", "print(1)"]
    result = subprocess.run(
        words, capture_output=True, text=True, preexec_fn=with_a_pending_interrupt, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_ctrl_c_in_a_class_body_of_an_import_ends_without_a_traceback(tmp_path):
    (tmp_path / "verb.py").write_text(
        "import os\n"
        "class Name:\n"
        "    def __set_name__(self, owner, name):\n"
        "        os.kill(os.getpid(), 2)\n"
        "        sum(range(10**6))\n"
        "class Owner:\n"
        "    name = Name()\n"
        "def main(words):\n"
        "    return 0\n"
    )
    code = (
        "import sys; from tundish import __main__ as entry\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "entry._VERBS['doctor'] = ('verb', 'main')\n"
        "sys.exit(entry.main(['doctor']))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_ctrl_c_while_the_watch_starts_ends_the_script_by_signal(tmp_path):
    start, probe = tmp_path / "_process" / "start", tmp_path / "diagnosis" / "probe"
    start.mkdir(parents=True)
    probe.mkdir(parents=True)
    shutil.copy(Path(watch.__file__).parents[2] / "_process" / "start" / "sitecustomize.py", start)
    (probe / "__init__.py").write_text("import os, time\nos.kill(os.getpid(), 2)\ntime.sleep(1)\n")
    environment = {**os.environ, "PYTHONPATH": str(start), "TUNDISH_DOCTOR": str(tmp_path)}
    words = [sys.executable, "-c", "print(1)"]
    result = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_during_the_import_of_pytorch_ends_cleanly(tmp_path):
    (tmp_path / "torch.py").write_text("import os, time\nos.kill(os.getpid(), 2)\ntime.sleep(1)\n")
    (tmp_path / "a.py").write_text("import torch\n")
    words = [sys.executable, "-m", "tundish", "doctor", "--", sys.executable, tmp_path / "a.py"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 130
    assert "No verdict: interrupted before PyTorch was imported." in result.stderr
