"""Functions shared by `tundish tune` and its subcommands: importing torch, Ctrl-C, progress."""

from __future__ import annotations

import importlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._c.errors import Error
from ..._cli.arguments import Options
from ..report.tuning_progress import Progress, stderr_progress

FAILURES = (Error, OSError, RuntimeError)  # errors that a trial raises


def import_tuner(module: str) -> Any:
    """Imports a module that needs torch. Called late, so that --help and wrong options need no torch."""
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
    """Yields a list in which each Ctrl-C is recorded. Ctrl-C still raises KeyboardInterrupt as usual."""
    interrupts: list[int] = []

    def note(number: int, frame: Any) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, the only one that can handle signals
        yield interrupts
        return
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def shown_progress(options: Options, minutes: float | None = None) -> Iterator[Progress]:
    """Shows progress on stderr. `minutes`: approximate length of the run; None if unknown."""
    progress = stderr_progress(options.quiet, None if minutes is None else 60 * minutes)
    try:
        yield progress
    finally:
        progress.end()
