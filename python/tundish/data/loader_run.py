"""The run of a loader: its position, the next batch, and the iterator over batches."""

from __future__ import annotations

import ctypes
import sys
import warnings
from typing import TYPE_CHECKING, Any

from .._c.errors import last_error
from .._c.functions import AGAIN, END, ERROR, OK
from .._c.handles import LoaderHandle
from .._c.library import lib
from . import monitoring
from .batch.batch_transform import BatchTransform
from .batch.pending_batch import PendingBatch
from .engine import LoaderEngine
from .tuning import TuningLog

if TYPE_CHECKING:
    from .loader import Loader

_HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
_SLICE_MS = 100  # maximum time of one blocking call; Ctrl-C is handled between calls


class LoaderIterator:
    """Iterates over a loader. Several threads may call next(); each batch goes to one thread."""

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
            return loader._run.next(self._iteration)
        except StopIteration:
            self._loader = None
            raise


class Run:
    """The state of a run. Only the thread with the engine's lock changes it, except when next() delivers a batch."""

    def __init__(
        self,
        engine: LoaderEngine,
        pending: PendingBatch,
        hang_ms: int,
        batch_transform: BatchTransform,
        tuning: TuningLog,
    ) -> None:
        self._engine = engine
        self._pinned = pending.form.pinned
        self._hang_ms = hang_ms
        self.batch_transform = batch_transform
        self._tuning = tuning
        self.pending = pending
        self.place = (0, 0)  # epoch and position after the delivered batches
        self._in_progress = False
        self._taken = False  # whether the current iteration has delivered a batch
        self._next_epoch: int | None = None  # set while an iteration is in progress
        self._iteration = 0  # number of the newest iteration
        self._ended = 0  # number of the last iteration that reached the end of its epoch
        self._warned = False

    # --- iterating --------------------------------------------------------------------------

    def begin(self) -> int:
        """Begins an iteration and returns its number."""
        self._engine.open()
        self._engine.acquire()
        try:
            if self._taken:  # the loop left the last iteration early
                self._go_to_next_epoch(self._ended)
            self._start()
            self._iteration += 1
            return self._iteration
        finally:
            self._engine.release()

    def next(self, iteration: int) -> Any:
        """Returns the next batch. Raises StopIteration at the end of the epoch."""
        while True:
            while not self._advance(iteration):
                if self._hang_ms:
                    self._warn_about_hanging()
            if not self._warned:
                self._warn_about_bad_samples()
            self._tuning.poll()
            if not _HAS_GIL:
                taken = self._take(iteration)
                if taken is None:
                    continue
                changed = self.batch_transform.function is not None
                return self.batch_transform(*taken) if changed else taken[0]
            pending = self.pending
            # There are no calls below, so neither Ctrl-C nor other threads can interrupt: the batch is either
            # kept or delivered. Before, another thread may have taken the batch or begun an iteration.
            if iteration == self._iteration and pending.out is not None:
                out, pending.out, pending.delivered = pending.out, None, None
                epoch, begin = self.place
                self.place = (epoch, pending.info.next_position)
                end = self.place[1]
                self._taken = True
                # From here on the batch is delivered. Errors and Ctrl-C come from the batch transform.
                if self.batch_transform.function is None:
                    return out
                return self.batch_transform(out, epoch, begin, end)

    def _take(self, iteration: int) -> tuple[Any, int, int, int] | None:
        """Takes the batch while holding the lock, for Python without a GIL.

        Returns the batch, its epoch, begin and end, or None if another thread was faster. Ctrl-C at the wrong
        moment can lose a batch.
        """
        self._engine.acquire()
        try:
            pending = self.pending
            if iteration != self._iteration or pending.out is None:
                return None
            out, pending.out, pending.delivered = pending.out, None, None
            epoch, begin = self.place
            self.place, self._taken = (epoch, pending.info.next_position), True
            return out, epoch, begin, self.place[1]
        finally:
            self._engine.release()

    def _start(self) -> None:
        self.pending.drop()
        if lib.tundish_loader_start(self._engine.open(), *self.place) != OK:
            raise last_error()
        self._in_progress = True

    def _go_to_next_epoch(self, ended: int) -> None:
        # There are no calls, so Ctrl-C and other threads see either all assignments or none.
        epoch = self.place[0] + 1 if self._next_epoch is None else self._next_epoch
        self.place, self._next_epoch, self._ended = (epoch, 0), None, ended
        self._in_progress = self._taken = False

    def _advance(self, iteration: int) -> bool:
        """Waits for up to _SLICE_MS. Returns whether a batch is ready. Raises StopIteration at the end of the epoch."""
        self._engine.open()
        self._engine.acquire()
        try:
            handle, pending = self._engine.open(), self.pending
            if iteration == self._ended:  # another thread reached the end of the epoch
                raise StopIteration
            if iteration != self._iteration:
                raise RuntimeError("a newer iteration over this loader has begun; this one is over")
            if not pending.is_ready():
                result = self._request_batch(handle, pending)
                if result == AGAIN:
                    return False
                if result == END:
                    if pending.finish_epoch():
                        return False  # the engine handles the bad samples first
                    self._go_to_next_epoch(iteration)
                    raise StopIteration
            pending.assemble()
            return True
        finally:
            self._engine.release()

    def _request_batch(self, handle: LoaderHandle, pending: PendingBatch) -> int:
        """Requests the next batch from the engine."""
        error = pending.take_error()
        if error is not None:
            self._taken = True
            raise error
        if self._pinned is not None:
            self._pinned.lend(handle)
        result = int(lib.tundish_loader_next(handle, _SLICE_MS, ctypes.byref(pending.batch)))
        if result == ERROR:
            self._taken = True  # the error replaces its batch
            raise last_error()
        return result

    def _warn_about_bad_samples(self) -> None:
        if lib.tundish_loader_bad_positions(self._engine.open()) == 0:
            return
        self._warned = True
        warnings.warn(monitoring.bad_sample_warning(self._engine.bad_samples()[0]), stacklevel=4)

    def _warn_about_hanging(self) -> None:
        text = lib.tundish_loader_hanging(self._engine.open(), self._hang_ms)
        if text:
            warnings.warn(monitoring.hang_warning(text), RuntimeWarning, stacklevel=4)

    # --- seeking ----------------------------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        self._engine.acquire()
        try:
            if self._taken:
                self._next_epoch = epoch
            elif epoch != self.place[0]:
                self.place = (epoch, 0)
                if self._in_progress:
                    self._start()
        finally:
            self._engine.release()

    def seek(self, place: tuple[int, int]) -> None:
        """Ends the current iteration. The next one starts at this epoch and position."""
        self._engine.acquire()
        try:
            self._iteration += 1
            self.pending.drop()
            self._in_progress = self._taken = False
            self.place, self._next_epoch = place, None
        finally:
            self._engine.release()
