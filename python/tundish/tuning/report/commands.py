"""The lines that repeat a run or load its plan: complete, so that they can be copied."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .results import Row

if TYPE_CHECKING:  # it needs torch, which help does not wait for
    from ..job import JobSource


def load_text(file: str, own: Sequence[str] = ()) -> str:
    """As in tundish.load_plan("plan.json", own=["tricks.py:Mine"])."""
    words = [quoted(file)]
    if own:
        words.append(f"own=[{', '.join(map(quoted, own))}]")
    return f"tundish.load_plan({', '.join(words)})"


def own_of(row: Row) -> list[str]:
    """FILE:CLASS of the user's own tricks of a row."""
    return [near(str(values["own"])) for values in row.tricks if values.get("own")]


def tune_command(source: JobSource, own: Iterable[str], options: dict[str, Any]) -> str:
    """The program's command for a run that Python started. Options as they are called there; those that
    are None, False, 0 or empty are left out."""
    if not source.function:  # objects of a program, which no command can name
        return "tundish.tune(model, optimizer, loss_fn, batch)"
    words = ["tundish", "tune", near(f"{source.file}:{source.function}")]
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value:
            several = isinstance(value, (list, tuple))
            words += [f"--{name}", ",".join(value) if several else str(value)]
    for one in own:
        words += ["--own", near(one)]
    return shlex.join(words)


def near(words: str) -> str:
    """FILE:NAME with a path from the current folder if the file is in it."""
    file, colon, name = words.rpartition(":")
    if not os.path.isabs(file):
        return words
    path = os.path.relpath(file)
    return words if path.startswith(os.pardir) else f"{path}{colon}{name}"


def quoted(text: str) -> str:
    """A Python string, in double quotes where that is possible."""
    return repr(text) if any(one in text for one in '"\\\n') else f'"{text}"'
