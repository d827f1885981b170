"""Measures how fast Tundish's engine produces the batches of the script's DataLoader."""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..facts import EngineFacts
from .own_generators import LoadingState

MOST_BATCHES = 40  # largest number of batches to time


def engine_rate(loader: Any, most_s: float) -> EngineFacts | None:
    """Returns the rate of the engine, or None if Tundish is not installed in the script's environment."""
    if importlib.util.find_spec("tundish") is None:
        return None
    from tundish.dropin.accelerate import accelerate  # the script's tundish package, not this one

    state = LoadingState(loader)
    try:
        with _silent():
            ours = accelerate(loader)
            if not ours.report.native:
                return EngineFacts(native=False, text=str(ours.report))
            batch_s = _batch_s(ours, most_s)
            ours.close()
    finally:
        state.restore()
    return EngineFacts(native=True, text=str(ours.report), batch_s=batch_s)


def _batch_s(loader: Any, most_s: float) -> float:
    """Returns the seconds per batch. Ignores the first batch, which waits for threads to start."""
    count, begin = 0, time.perf_counter()
    deadline = begin + most_s
    for _ in _endless(loader):
        now = time.perf_counter()
        if count == 0:
            begin = now
        count += 1
        if count > MOST_BATCHES or (count > 1 and now > deadline):
            break
    return (now - begin) / (count - 1)


def _endless(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


@contextmanager
def _silent() -> Iterator[None]:
    """Disables logging in a `with` block, because the verdict already contains accelerate()'s report."""
    log = logging.getLogger("tundish")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
