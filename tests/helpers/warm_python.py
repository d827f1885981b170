"""Python programs in processes that have torch imported: forks of one that waits, since an import takes seconds of CPU time.

The other end is tests/helpers/warm/child.py. With nested=True the Python processes that a program starts are such forks
too. What a test says about a fresh interpreter (its imports, threads, memory, end) needs one: the fixture run_python.
"""

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

HERE = Path(__file__).parent
TORCHVISION = ("torch", "torchvision", "torchvision.transforms.v2", "timm")
FRAMEWORKS = ("torch", "torchvision", "lightning", "pytorch_lightning", "accelerate")
FRAMEWORKS += ("datasets", "transformers.trainer")


@functools.cache
def server(imports):
    """The folder of the process that has imported these modules; the process ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    client = (HERE / "warm" / "client.py").read_text()
    (folder / "python").write_text(f"#!{sys.executable} -IS\n{client}")
    (folder / "python").chmod(0o755)
    # Threads of torch that share a busy CPU wait for each other many times as long as they work.
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-W", "ignore", HERE / "warm" / "child.py", folder, *imports]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, env=environment)

    def end():
        process.communicate()  # closes its input
        shutil.rmtree(folder)

    atexit.register(end)
    while not (folder / "socket").exists():
        assert process.poll() is None
        time.sleep(0.01)
    return folder


class WarmProcess:
    """A fork that runs `python WORDS`; a part of subprocess.Popen."""

    def __init__(self, words, imports=TORCHVISION, env=None, cwd=None, nested=False):
        self.args = list(map(str, words))
        self.returncode = None
        self._out, self._error = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        folder = server(imports)
        request = {"words": self.args, "env": dict(os.environ if env is None else env)}
        request |= {"cwd": str(cwd or os.getcwd()), "nested": nested and str(folder / "python")}
        files = [self._out.fileno(), self._error.fileno()]
        self._ask(folder, request | {"numbers": [], "session": False}, files)

    def _ask(self, folder, request, files, more=()):
        """Sets pid and the socket on which the exit status will come."""
        self._answer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._send(folder, request, files, more)
        except BaseException:  # Ctrl-C too; the process ends when nobody waits for it
            self._answer.close()
            raise

    def _send(self, folder, request, files, more):
        self._answer.connect(str(folder / "socket"))
        with tempfile.TemporaryFile("w+") as text, open(os.devnull) as nothing:
            json.dump(request, text)
            text.flush()
            text.seek(0)
            files = [nothing.fileno(), *files, text.fileno(), *more]
            socket.send_fds(self._answer, [b"."], files)
            self.pid = int(self._answer.recv(32))

    def wait(self, timeout=None):
        if self.returncode is None:
            self._answer.settimeout(timeout)
            try:
                # Empty: it has ended, and Ctrl-C came when the first call had taken the answer.
                self.returncode = int(self._answer.recv(32) or -signal.SIGKILL)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout) from None
            self._answer.close()
        return self.returncode

    def kill(self):
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self, timeout=None):
        """What the program printed, once it has ended."""
        self.wait(timeout)
        with self._out, self._error:
            for file in (self._out, self._error):
                file.seek(0)
            return self._out.read().decode(), self._error.read().decode()


class WarmPopen(WarmProcess):
    """What subprocess.Popen is to tundish/tuning/trials/trial.py: a process of a session of its own, which gets descriptors."""

    started: ClassVar[list["WarmPopen"]] = []

    def __init__(self, words, *, pass_fds, stdin, stdout, stderr, start_new_session):
        assert words[0] == sys.executable
        assert stdin == subprocess.DEVNULL
        self.args, self.returncode = words[1:], None
        request = {"words": self.args, "env": dict(os.environ), "cwd": os.getcwd(), "nested": ""}
        request |= {"numbers": list(pass_fds), "session": start_new_session}
        self._ask(server(TORCHVISION), request, [stdout.fileno(), stderr.fileno()], pass_fds)

        self.started.append(self)

    @classmethod
    def still_running(cls):
        """The ids of processes that nobody has ended."""
        return [one.pid for one in cls.started if one.poll() is None]

    def poll(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode


def use_warm_trials(patch):
    """Trials of tundish.tune() start such processes until the patch is taken back."""
    from tundish.tuning.trials import trial

    patch.setattr(trial, "subprocess", SimpleNamespace(Popen=WarmPopen, DEVNULL=subprocess.DEVNULL))


def run_warm(*words, timeout=300, check=True, **options):
    """subprocess.run() with captured text; the options are those of WarmProcess."""
    process = WarmProcess(words, **options)
    try:
        out, error = process.communicate(timeout)
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()
    if check:
        assert process.returncode == 0, out + error
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)
