"""Ends a look into a data set that waits for something that never comes, such as a queue that nobody fills any more."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_AGAIN_S = 1.0  # a data set may catch every exception and try again


class TooLong(BaseException):
    """No Exception: a data set may catch those."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TooLong in the block after so many seconds. Without effect where the script may use the alarm."""
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
