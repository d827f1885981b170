"""A loader's run: the place it has come to, and the batch that it hands out next."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .._c.errors import last_error
from .._c.functions import AGAIN, END, ERROR, OK
from .._c.handles import BatchHandle, LoaderHandle
from .._c.library import lib
from .._c.structs import TensorInfo
from . import monitoring
from .batch.assemble import Assembler
from .batch.batch_transform import BatchTransform
from .batch.pending_batch import PendingBatch
from .batch.pinned import PinnedBatches
from .engine import Engine
from .fair_lock import Turn
from .gpu.gpu_pending import PendingGpuBatches
from .tuning import TuningLog

_HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
_SLICE_MS = 100  # how long one call may block; Ctrl-C is seen in between

Pending = PendingBatch | PendingGpuBatches


class Run:
    """Its members are changed by the thread that has the turn, and where a batch is handed out."""

    def __init__(
        self,
        engine: Engine,
        assembler: Assembler,
        pending: Pending,
        pinned: PinnedBatches | None,
        hang_ms: int,
        batch_transform: BatchTransform,
        tuning: TuningLog,
    ) -> None:
        self._engine = engine
        self._assembler = assembler
        self._pinned = pinned
        self._hang_ms = hang_ms
        self.batch_transform = batch_transform
        self._tuning = tuning
        self._turn = Turn()
        self.pending = pending
        self.place = (0, 0)  # epoch, position: what was handed out so far
        self._in_progress = False
        self._taken = False  # a batch of the iteration in progress
        self._wanted_epoch: int | None = None  # set once a batch was taken
        self._iteration = 0  # number of the newest
        self._ended = 0  # number of the last one that came to the end of its epoch
        self._warned = False
        self.on_batch: Callable[[ctypes.c_void_p], None] | None = None  # for replay

    # --- iterating --------------------------------------------------------------------------

    def begin(self) -> int:
        """Begins an iteration; gives its number."""
        self._engine.open()
        self._turn.begin()
        try:
            if self._taken:  # the last iteration was left early
                self._go_to_next_epoch(self._ended)
            self._start()
            self._iteration += 1
            return self._iteration
        finally:
            self._turn.end()

    def next(self, iteration: int) -> Any:
        """The next batch. Raises StopIteration when the epoch is over."""
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
            # No call below: Ctrl-C comes before, and the batch is kept, or after, and the loop has it. Nor
            # does another thread come in between; one may have been faster, or begun an iteration.
            if iteration == self._iteration and pending.out is not None:
                out, pending.out, pending.given = pending.out, None, None
                epoch, begin = self.place
                self.place = (epoch, pending.info.next_position)
                end = self.place[1]
                self._taken = True
                # From here on the batch is the loop's, as are errors and Ctrl-C of its function.
                if self.batch_transform.function is None:
                    return out
                return self.batch_transform(out, epoch, begin, end)

    def _take(self, iteration: int) -> tuple[Any, int, int, int] | None:
        """Without a GIL: the batch, its epoch, begin and end, while no other thread has the turn. None: another one was
        faster. Ctrl-C at this moment can lose a batch."""
        self._turn.begin()
        try:
            pending = self.pending
            if iteration != self._iteration or pending.out is None:
                return None
            out, pending.out, pending.given = pending.out, None, None
            epoch, begin = self.place
            self.place, self._taken = (epoch, pending.info.next_position), True
            return out, epoch, begin, self.place[1]
        finally:
            self._turn.end()

    def _start(self) -> None:
        self.pending.drop()
        if lib.tundish_loader_start(self._engine.open(), *self.place) != OK:
            raise last_error()
        self._in_progress = True

    def _go_to_next_epoch(self, ended: int) -> None:
        # No call: Ctrl-C, and other threads, see all of it or nothing.
        epoch = self.place[0] + 1 if self._wanted_epoch is None else self._wanted_epoch
        self.place, self._wanted_epoch, self._ended = (epoch, 0), None, ended
        self._in_progress = self._taken = False

    def _advance(self, iteration: int) -> bool:
        """Waits for one slice. True: a batch is here. Raises StopIteration when the epoch is over."""
        self._engine.open()
        self._turn.begin()
        try:
            handle, pending = self._engine.open(), self.pending
            if iteration == self._ended:  # another thread has seen the end of the epoch
                raise StopIteration
            if iteration != self._iteration:
                raise RuntimeError("a newer iteration over this loader has begun; this one is over")
            if not pending.here():
                result = self._ask(handle, pending)
                if result == AGAIN:
                    return False
                if result == END:
                    if pending.end_of_epoch():
                        return False  # the engine judges what was found
                    self._go_to_next_epoch(iteration)
                    raise StopIteration
            pending.assemble(self._assemble)
            return True
        finally:
            self._turn.end()

    def _ask(self, handle: LoaderHandle, pending: Pending) -> int:
        """The engine for the next batch."""
        error = pending.take_error()
        if error is not None:
            self._taken = True
            raise error
        if self._pinned is not None:
            self._pinned.lend(handle)
        result = int(lib.tundish_loader_next(handle, _SLICE_MS, ctypes.byref(pending.batch)))
        if result == ERROR:
            self._taken = True  # the error was of a batch, which does not come again
            raise last_error()
        return result

    def _assemble(
        self, batch: BatchHandle, infos: list[TensorInfo], on_gpu: list[Any] | None = None
    ) -> Any:
        if self.on_batch is not None:
            self.on_batch(batch)
        return self._assembler(batch, infos, on_gpu)

    def _warn_about_bad_samples(self) -> None:
        if lib.tundish_loader_bad_positions(self._engine.open()) == 0:
            return
        self._warned = True
        warnings.warn(monitoring.about_bad(self._engine.bad_samples()[0]), stacklevel=4)

    def _warn_about_hanging(self) -> None:
        text = lib.tundish_loader_hanging(self._engine.open(), self._hang_ms)
        if text:
            warnings.warn(monitoring.about_hanging(text), RuntimeWarning, stacklevel=4)

    # --- going elsewhere --------------------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        self._turn.begin()
        try:
            if self._taken:
                self._wanted_epoch = epoch
            elif epoch != self.place[0]:
                self.place = (epoch, 0)
                if self._in_progress:
                    self._start()
        finally:
            self._turn.end()

    def go_to(self, place: tuple[int, int]) -> None:
        """The iteration in progress is over; the next one begins at this epoch and position."""
        self._turn.begin()
        try:
            self._iteration += 1
            self.pending.drop()
            self._in_progress = self._taken = False
            self.place, self._wanted_epoch = place, None
        finally:
            self._turn.end()
