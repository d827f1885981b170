"""Runs the user's command with the watch in every Python process that it starts.

The command has our stdin, stdout, stderr and place in the terminal. Signals that are sent to us alone
are passed on; those of the terminal reach the command by themselves. It ends when we are killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import dataclass, replace
from typing import Any

from ...scratch_folder import scratch_folder
from ..probe.settings import VARIABLE, Settings, to_variable
from ..timeline.merge import write_timeline

_START = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "probe", "start")
_COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start_command.py")
_PASSED_ON = {
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
}
_STDOUT, _STDERR = 1, 2
INTERRUPTED = 130


@dataclass(frozen=True)
class Ended:
    """How the command ended, and what its processes saw, the lowest rank first."""

    code: int  # as a shell gives it: 128 + n after signal n
    facts: list[dict[str, Any]]
    timeline: dict[str, Any] | None = None  # what is in the file, where one was asked for
    interrupted: bool = False  # Ctrl-C came; a script with a handler of its own may have gone on


def run(
    command: list[str], settings: Settings, stdout_to_stderr: bool = False, timeline: str = ""
) -> Ended:
    """Raises OSError if the command cannot be started. `timeline`: the file to be written, if any."""
    with scratch_folder("tundish-doctor-") as folder:
        settings = replace(settings, timeline_folder=folder if timeline else "")
        code, came = _run(command, _environment(folder, settings), stdout_to_stderr)
        written = write_timeline(folder, timeline) if timeline else None
        return Ended(code, _read(folder), written, signal.SIGINT in came or code == INTERRUPTED)


def command_of(words: list[str]) -> list[str]:
    """The command as it can be started: a script gets an interpreter, "python" the one that is here."""
    first = words[0]
    if first.endswith(".py") and not _starts_by_itself(first):
        return [sys.executable, *words]
    if first in ("python", "python3") and shutil.which(first) is None:
        return [sys.executable, *words[1:]]
    return words


def _starts_by_itself(script: str) -> bool:
    """Whether a shell could start it: by its first line, and without a folder in its name only from the PATH."""
    path = script if os.sep in script else shutil.which(script)
    if path is None or not os.access(path, os.X_OK):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:  # it may be started, though not read
        return True


def _environment(folder: str, settings: Settings) -> dict[str, str]:
    before = os.environ.get("PYTHONPATH")
    path = _START if not before else f"{_START}{os.pathsep}{before}"
    quiet = {"KINETO_LOG_LEVEL": "6"}  # torch's profiler says when it starts and stops
    ours = {"PYTHONPATH": path, VARIABLE: to_variable(folder, settings)}
    return {**quiet, **os.environ, **ours}


def _run(
    command: list[str], environment: dict[str, str], stdout_to_stderr: bool
) -> tuple[int, set[int]]:
    """The exit code, and the signals that came."""
    came: set[int] = set()
    waited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        child = _start(command, environment, stdout_to_stderr, before)
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return _code(status), came
            told = signal.sigwaitinfo(waited)
            came.add(told.si_signo)
            from_terminal = told.si_code > 0  # by the kernel, to everyone in the foreground
            if told.si_signo != signal.SIGCHLD and not from_terminal:
                os.kill(child, told.si_signo)
    finally:
        while signal.sigtimedwait(waited, 0) is not None:
            pass  # what came meanwhile was the command's
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(
    command: list[str], environment: dict[str, str], stdout_to_stderr: bool, mask: set[int]
) -> int:
    """Its process, which the kernel ends with this thread. Raises OSError if the command cannot be started."""
    told, tells = os.pipe()
    moves = [(os.POSIX_SPAWN_DUP2, tells, tells)]  # stays open in the child
    if stdout_to_stderr:
        moves.append((os.POSIX_SPAWN_DUP2, _STDERR, _STDOUT))
    hold = str(int(signal.SIGINT in mask))
    words = [sys.executable, "-I", "-S", _COMMAND, str(os.getpid()), str(tells), hold, *command]
    with open(told, "rb") as pipe:
        try:
            child = os.posix_spawn(
                sys.executable,
                words,
                environment,
                file_actions=moves,
                setsigmask={*mask, signal.SIGINT},
            )
        finally:
            os.close(tells)
        error = pipe.read()
    if error:
        os.waitpid(child, 0)
        raise OSError(int(error), os.strerror(int(error)))
    return child


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _read(folder: str) -> list[dict[str, Any]]:
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append(json.load(file))
    return sorted(found, key=lambda one: (not one["steps"], one["rank"], -len(one["steps"])))
