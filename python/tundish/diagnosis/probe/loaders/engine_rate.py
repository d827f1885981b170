"""How fast Tundish's engine makes the batches of the script's own DataLoader, where it knows the data set."""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..random_states import random_states

ENOUGH = 40  # batches


def engine_rate(loader: Any, most_s: float) -> dict[str, Any] | None:
    """{"native", "text"}, and "batch_s" where the engine makes the batches; None without Tundish."""
    if importlib.util.find_spec("tundish") is None:
        return None
    from tundish.dropin.accelerate import accelerate  # the script's own, not this package's

    restore = random_states(loader)
    try:
        with _silent():
            ours = accelerate(loader)
            if not ours.report.native:
                return {"native": False, "text": str(ours.report)}
            batch_s = _batch_s(ours, most_s)
            ours.close()
    finally:
        restore()
    return {"native": True, "text": str(ours.report), "batch_s": batch_s}


def _batch_s(loader: Any, most_s: float) -> float:
    """Seconds per batch, without the first one, which waits for threads to start."""
    count, begin = 0, time.perf_counter()
    deadline = begin + most_s
    for _ in _endless(loader):
        now = time.perf_counter()
        if count == 0:
            begin = now
        count += 1
        if count > ENOUGH or (count > 1 and now > deadline):
            break
    return (now - begin) / (count - 1)


def _endless(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


@contextmanager
def _silent() -> Iterator[None]:
    """What accelerate() reports is part of the verdict."""
    log = logging.getLogger("tundish")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
