"""What `tundish tune` and its sub-verbs share while they measure: torch, Ctrl-C, progress."""

from __future__ import annotations

import importlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._c.errors import Error
from ..._cli.arguments import Options
from ..report.tuning_progress import Progress, stderr_progress

FAILURES = (Error, OSError, RuntimeError)  # what a trial raises


def import_tuner(module: str) -> Any:
    """Imports a module that needs torch: help and wrong options do not wait for it."""
    try:
        importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise Error("tundish tune needs PyTorch\n  fix: pip install torch") from None
    return importlib.import_module(module)


def trick_names() -> list[str]:
    from ..tricks import TRICKS

    return [kind.name for kind in TRICKS]


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """Lets Ctrl-C raise KeyboardInterrupt as always, and adds it to the list that it yields."""
    interrupts: list[int] = []

    def note(number: int, frame: Any) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, which alone has signals
        yield interrupts
        return
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def shown_progress(options: Options, minutes: float | None = None) -> Iterator[Progress]:
    """Progress on stderr. `minutes`: about how long the run takes, if that is known."""
    progress = stderr_progress(options.quiet, None if minutes is None else 60 * minutes)
    try:
        yield progress
    finally:
        progress.end()
