"""Which thread of the program has its turn with a loader."""

from __future__ import annotations

import os
import threading


class Turn:
    """A lock for what only one thread may do at a time with a loader: ask the engine, start an iteration.

    A thread that waits for a batch gives its turn up between short slices. Whoever else wants the turn
    waits behind a door, through which the waiting thread has to go again: a thread that releases a lock
    and takes it again at once would leave the others no chance. The same thread may take it twice, as
    a signal handler does.

        turn.begin()
        try: ...
        finally: turn.end()
    """

    def __init__(self) -> None:
        self._make()

    def _make(self) -> None:
        self._process = os.getpid()
        self._door = threading.RLock()
        self._lock = threading.RLock()
        # No function of Python's own: Ctrl-C would come before its first line.
        self.end = self._lock.release

    def begin(self) -> None:
        if os.getpid() != self._process:  # a fork: the thread that had it is not here
            self._make()
        lock = self._lock
        before = lock._is_owned()  # type: ignore[attr-defined]
        try:
            with self._door:
                lock.acquire()
        except BaseException:  # Ctrl-C, before or after it was acquired
            if not before and lock._is_owned():  # type: ignore[attr-defined]
                lock.release()
            raise
