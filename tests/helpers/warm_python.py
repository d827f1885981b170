"""Runs Python programs as forks of a process that has already imported torch, which saves CPU time.

tests/helpers/warm/child.py is the server process. With nested=True, Python processes that a program
starts are forks too. Tests that need a new interpreter (imports, threads, memory, exit) must use the
fixture run_python instead.
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
    """Starts a server that imports these modules, and returns its folder. It ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    client = (HERE / "warm" / "client.py").read_text()
    (folder / "python").write_text(f"#!{sys.executable} -IS\n{client}")
    (folder / "python").chmod(0o755)
    # Torch threads that spin would use most of a busy CPU.
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
    """A fork that runs `python ARGS`. Has some of the methods of subprocess.Popen."""

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
        """Sends the request. Sets the process id, and the socket that will deliver the exit status."""
        self._answer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._send(folder, request, files, more)
        except BaseException:  # includes Ctrl-C; closing the socket kills the process
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
                # Empty if Ctrl-C interrupted an earlier call that had already received the status.
                self.returncode = int(self._answer.recv(32) or -signal.SIGKILL)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout) from None
            self._answer.close()
        return self.returncode

    def kill(self):
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self, timeout=None):
        """Waits until the program ends and returns its output."""
        self.wait(timeout)
        with self._out, self._error:
            for file in (self._out, self._error):
                file.seek(0)
            return self._out.read().decode(), self._error.read().decode()


class WarmPopen(WarmProcess):
    """Replaces subprocess.Popen in tundish/tuning/trials/trial.py. Supports sessions and descriptors."""

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
        """Returns the ids of processes that are still running."""
        return [one.pid for one in cls.started if one.poll() is None]

    def poll(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode


def use_warm_trials(patch):
    """Makes tundish.tune() run its trials as warm processes until the patch is undone."""
    from tundish.tuning.trials import trial

    patch.setattr(trial, "subprocess", SimpleNamespace(Popen=WarmPopen, DEVNULL=subprocess.DEVNULL))


def run_warm(*words, timeout=300, check=True, **options):
    """Works like subprocess.run() with captured text. Accepts the options of WarmProcess."""
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
