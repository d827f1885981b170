"""What a loop and a framework see of a loader's iteration."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loader import Loader


class Sampler:
    """What frameworks look for: `loader.sampler.set_epoch(n)`."""

    def __init__(self, loader: Loader) -> None:
        self._loader = weakref.ref(loader)

    def set_epoch(self, epoch: int) -> None:
        loader = self._loader()
        if loader is not None:
            loader.set_epoch(epoch)


class LoaderIterator:
    """Several threads may call next(): each batch goes to one of them."""

    def __init__(self, loader: Loader, iteration: int) -> None:
        self._loader: Loader | None = loader
        self._iteration = iteration

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        loader = self._loader  # another thread may end the iteration meanwhile
        if loader is None:
            raise StopIteration
        try:
            return loader._next(self._iteration)
        except StopIteration:
            self._loader = None
            raise


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
