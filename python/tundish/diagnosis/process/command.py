"""Runs the user's command, and watches every Python process that it starts.

The command uses the stdin, stdout, stderr and terminal of this process. Signals sent only to this
process are forwarded; signals from the terminal reach the command directly. The command is killed if
this process dies.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

from ...scratch_folder import scratch_folder
from ..doctor_json import TimelineJson
from ..facts_file import FactsError, read_facts
from ..probe.facts import Facts
from ..probe.settings import VARIABLE, Settings, to_variable
from ..timeline.merge import write_timeline

_HERE = os.path.dirname(os.path.abspath(__file__))
_START = os.path.join(os.path.dirname(os.path.dirname(_HERE)), "_process", "start")
_COMMAND = os.path.join(_HERE, "start_command.py")
_FORWARDED = {
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
}
_STDIN, _STDOUT, _STDERR = 0, 1, 2
INTERRUPTED = 130


@dataclass(frozen=True)
class CommandResult:
    """The exit code of the command, and the facts from its processes, lowest rank first."""

    code: int  # exit code as in a shell: 128 + n after signal n
    facts: list[Facts]
    timeline: TimelineJson | None = None  # contents of the timeline file, if one was requested
    interrupted: bool = False  # whether SIGINT arrived; a script that handles it may have continued
    unreadable: list[str] = field(default_factory=list)  # errors for unreadable facts files
    late: bool = False  # killed at the time limit


@dataclass(frozen=True)
class Surroundings:
    """What a command gets instead of the terminal and the environment of this process."""

    environment: dict[str, str] = field(default_factory=dict)  # variables to set
    output: str = ""  # file for stdout and stderr; stdin is then empty. "": the terminal
    limit_s: float = math.inf  # then the command is killed
    stdout_to_stderr: bool = False
    allowing: str = ""  # variable with folders for files of the command; that of the facts is added


def run(
    command: list[str],
    settings: Settings,
    surroundings: Surroundings | None = None,
    timeline: str = "",
) -> CommandResult:
    """Runs the command and waits for it. Raises OSError if the command cannot start.

    `timeline` is the timeline file to write, or "".
    """
    around = surroundings or Surroundings()
    with scratch_folder("tundish-doctor-") as folder:
        settings = replace(settings, timeline_folder=folder if timeline else "")
        code, received = _run(command, _environment(folder, settings, around), around)
        written = write_timeline(folder, timeline) if timeline else None
        facts, errors = _read_facts(folder)
        interrupted = signal.SIGINT in received or code == INTERRUPTED
        late = signal.SIGALRM in received
        return CommandResult(code, facts, written, interrupted, errors, late)


def resolve_command(argv: list[str]) -> list[str]:
    """Returns the command to start. Adds the interpreter to a script, and resolves "python"."""
    first = argv[0]
    if first.endswith(".py") and not _can_start_alone(first):
        return [sys.executable, *argv]
    if first in ("python", "python3") and shutil.which(first) is None:
        return [sys.executable, *argv[1:]]
    return argv


def _can_start_alone(script: str) -> bool:
    """Returns whether a shell could start the script by itself.

    The script must have a `#!` line, and a name without a folder must be on the PATH.
    """
    path = script if os.sep in script else shutil.which(script)
    if path is None or not os.access(path, os.X_OK):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:  # the file may be executable but not readable
        return True


def _environment(folder: str, settings: Settings, around: Surroundings) -> dict[str, str]:
    before = os.environ.get("PYTHONPATH")
    path = _START if not before else f"{_START}{os.pathsep}{before}"
    quiet = {"KINETO_LOG_LEVEL": "6"}  # silences messages of torch's profiler
    ours = {"PYTHONPATH": path, VARIABLE: to_variable(folder, settings)}
    variables = {**quiet, **os.environ, **around.environment, **ours}
    if around.allowing:
        places = [variables.get(around.allowing, ""), os.path.realpath(folder)]
        variables[around.allowing] = os.pathsep.join(filter(None, places))
    return variables


def _run(
    command: list[str], environment: dict[str, str], around: Surroundings
) -> tuple[int, set[int]]:
    """Runs the command. Returns its exit code and the signals received; SIGALRM at the time limit."""
    received: set[int] = set()
    waited = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        child = _start(command, environment, around, before)
        deadline = time.monotonic() + around.limit_s
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return _code(status), received
            info = _wait(waited, deadline)
            if info is None:
                received.add(signal.SIGALRM)
                os.kill(child, signal.SIGKILL)
                deadline = math.inf
                continue
            received.add(info.si_signo)
            from_terminal = info.si_code > 0  # sent by the kernel to the whole foreground group
            if info.si_signo != signal.SIGCHLD and not from_terminal:
                os.kill(child, info.si_signo)
    finally:
        while signal.sigtimedwait(waited, 0) is not None:
            pass  # these signals were meant for the command
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(waited: set[signal.Signals], deadline: float) -> signal.struct_siginfo | None:
    """Returns the next signal, or None at the deadline."""
    if deadline == math.inf:
        return signal.sigwaitinfo(waited)
    return signal.sigtimedwait(waited, max(0.0, deadline - time.monotonic()))


def _start(
    command: list[str], environment: dict[str, str], around: Surroundings, mask: set[int]
) -> int:
    """Starts the command and returns its process id. Raises OSError if the command cannot start.

    The kernel kills the command when this thread ends.
    """
    read_end, write_end = os.pipe()
    moves: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, write_end, write_end)]  # stays open
    moves += _redirections(around)
    hold = str(int(signal.SIGINT in mask))
    argv = [sys.executable, "-I", "-S", _COMMAND, str(os.getpid()), str(write_end), hold, *command]
    with open(read_end, "rb") as pipe:
        try:
            child = os.posix_spawn(
                sys.executable,
                argv,
                environment,
                file_actions=moves,
                setsigmask={*mask, signal.SIGINT},
            )
        finally:
            os.close(write_end)
        error = pipe.read()
    if error:
        os.waitpid(child, 0)
        raise OSError(int(error), os.strerror(int(error)))
    return child


def _redirections(around: Surroundings) -> list[tuple[Any, ...]]:
    if around.output:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return [
            (os.POSIX_SPAWN_OPEN, _STDIN, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, _STDOUT, around.output, flags, 0o600),
            (os.POSIX_SPAWN_DUP2, _STDOUT, _STDERR),
        ]
    return [(os.POSIX_SPAWN_DUP2, _STDERR, _STDOUT)] if around.stdout_to_stderr else []


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _read_facts(folder: str) -> tuple[list[Facts], list[str]]:
    """Returns the facts of all processes, and errors for files that cannot be read."""
    found, errors = [], []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            try:
                found.append(read_facts(os.path.join(folder, name)))
            except (FactsError, OSError) as error:
                errors.append(str(error))
    found.sort(key=lambda facts: (not facts.steps, facts.rank, -len(facts.steps)))
    return found, errors
