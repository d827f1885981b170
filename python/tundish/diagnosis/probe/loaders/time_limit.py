"""Limits the time for loading samples. A dataset may wait forever, for example for an unused queue."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_AGAIN_S = 1.0  # interval for repeating the alarm, because a dataset may catch it and try again


class TooLong(BaseException):
    """Raised at the time limit. Derives from BaseException, because a dataset may catch any Exception."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TooLong in the `with` block after `seconds`. Does nothing if the script may use the alarm."""
    free = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and not signal.getitimer(signal.ITIMER_REAL)[0]
    )
    if not free:
        yield
        return
    active = [True]

    def late(*ignored: Any) -> None:
        if active:
            raise TooLong(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
            yield
        finally:
            active.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
