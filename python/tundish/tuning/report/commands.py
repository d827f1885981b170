"""Writes commands and code that repeat a tuning run or load its plan, for users to copy."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .results import Row

if TYPE_CHECKING:  # not at run time: job.py imports torch, which --help does not need
    from ..job import JobSource


def load_text(file: str, own: Sequence[str] = ()) -> str:
    """Returns code such as tundish.load_plan("plan.json", custom_tricks=["tricks.py:Mine"])."""
    arguments = [quoted(file)]
    if own:
        arguments.append(f"custom_tricks=[{', '.join(map(quoted, own))}]")
    return f"tundish.load_plan({', '.join(arguments)})"


def own_tricks(row: Row) -> list[str]:
    """Returns FILE:CLASS of each user-defined trick in a row."""
    return [near(str(values["own"])) for values in row.tricks if values.get("own")]


def tune_command(source: JobSource, own: Iterable[str], options: dict[str, Any]) -> str:
    """Returns the command line that repeats a run started from Python.

    The keys of `options` are command line names. Options that are None, False, 0 or empty are left out.
    """
    if not source.function:  # the job was passed as objects, which a command cannot name
        return "tundish.tune(model, optimizer, loss_fn, batch)"
    argv = ["tundish", "tune", near(f"{source.file}:{source.function}")]
    for name, value in options.items():
        if value is True:
            argv.append(f"--{name}")
        elif value:
            several = isinstance(value, (list, tuple))
            argv += [f"--{name}", ",".join(value) if several else str(value)]
    for spec in own:
        argv += ["--custom-trick", near(spec)]
    return shlex.join(argv)


def near(spec: str) -> str:
    """Returns FILE:NAME with a path relative to the current folder if the file is inside it."""
    file, colon, name = spec.rpartition(":")
    if not os.path.isabs(file):
        return spec
    path = os.path.relpath(file)
    return spec if path.startswith(os.pardir) else f"{path}{colon}{name}"


def quoted(text: str) -> str:
    """Returns a Python string literal, in double quotes if possible."""
    return repr(text) if any(character in text for character in '"\\\n') else f'"{text}"'
