"""`tundish run --boost`: starts a command whose processes make the changes of a saved boost."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from typing import Any

from .._c.errors import ArgumentError, MissingError
from .._cli.error_output import print_error

VARIABLE = "TUNDISH_BOOST"  # read by _process/start/sitecustomize.py
_START = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_process", "start"
)
NOT_STARTED = 127


def boosted_environment(path: str, command: list[str]) -> dict[str, str]:
    """Returns the variables that make the changes of the result in a command's processes.

    Raises ArgumentError if the script has changed since the search.
    """
    _check_script(_read(path), path, command)
    before = os.environ.get("PYTHONPATH")
    start = _START if not before else f"{_START}{os.pathsep}{before}"
    return {"PYTHONPATH": start, VARIABLE: os.path.abspath(path)}


def start_boosted(path: str, command: list[str]) -> int:
    """Replaces this process by the command. Returns an exit code only if it cannot start."""
    environment = {**os.environ, **boosted_environment(path, command)}
    argv = with_python(command)
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        return print_error(f"{argv[0]}: {error.strerror}", NOT_STARTED)


def with_python(command: list[str]) -> list[str]:
    """Returns the command with this Python in place of a missing one, or before a script."""
    if command[0].endswith(".py"):
        return [sys.executable, *command]
    program = shutil.which(command[0])
    if program is None and command[0] in ("python", "python3"):
        program = sys.executable
    return [program or command[0], *command[1:]]


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            values = json.load(file)
    except FileNotFoundError:
        raise MissingError(
            f"--boost {path}: no such file\n  fix: make it: tundish boost -o {path} -- python train.py"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"--boost {path}: cannot be read: {error}") from None
    wanted = {"changes": list, "objects": dict, "script": str, "digest": str}
    is_result = isinstance(values, dict) and all(
        isinstance(values.get(key), kind) for key, kind in wanted.items()
    )
    if not is_result or values.get("format") != 1:
        raise ArgumentError(
            f"--boost {path}: is not a result of this version of tundish boost\n"
            f"  fix: search again: tundish boost -f -o {path} -- python train.py"
        )
    return dict(values)


def _check_script(values: dict[str, Any], path: str, command: list[str]) -> None:
    script = next((name for name in command if name.endswith(".py")), values["script"])
    try:
        with open(script, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()[:16]
    except OSError:
        return  # python -m MODULE: the models are compared when the loop uses them
    if values["digest"] and digest != values["digest"]:
        raise ArgumentError(
            f"--boost {path}: {script} has changed since the search\n"
            f"  fix: search again: tundish boost -f -o {path} -- {' '.join(command)}\n"
            f'  or make the changes from the script: tundish.boost("{path}")'
        )
