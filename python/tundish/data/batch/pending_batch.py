"""The next batch between the engine and the loop.

The batch stays here until it is delivered. An exception in between (Ctrl-C, or a warning turned into an
error) loses nothing: the next call returns the batch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..._c.batch_tensors import tensor_infos
from ..._c.handles import BatchHandle
from ..._c.library import lib
from ..._c.structs import BatchInfo, TensorInfo
from .pinned import PinnedBatches


class PendingBatch:
    def __init__(self, pinned: PinnedBatches | None, decoding: str | None = "cpu") -> None:
        self._pinned = pinned
        self.decoding = decoding  # where images are decoded
        self.batch = BatchHandle()  # empty, or the engine's batch
        self.info = BatchInfo()
        self._tensors: list[TensorInfo] = []  # of the current batch
        self.out: Any = None  # the assembled batch
        self.delivered: Any = None  # used for batches on a GPU

    def is_ready(self) -> bool:
        return self.out is not None or bool(self.batch)

    def finish_epoch(self) -> bool:
        return False

    def stats(self, reset: bool) -> dict[str, float]:
        """Returns zeros. gpu/lag.py has the statistics of a GPU."""
        return {"data/gpu_wait_s": 0.0, "data/gpu_wait_share": 0.0, "data/gpu_decoded": 0}

    def take_error(self) -> Exception | None:
        return None  # the engine reports errors with its next batch

    def assemble(self, make: Callable[[BatchHandle, list[TensorInfo]], Any]) -> None:
        """Assembles the batch, if another thread has not taken it. Every step can be interrupted and repeated."""
        if self.out is None and self.batch:
            lib.tundish_batch_get_info(self.batch, ctypes.byref(self.info))
            self._tensors = tensor_infos(self.batch, self.info)
            try:
                self.out = make(self.batch, self._tensors)
            except Exception:  # it would repeat forever; Ctrl-C is not an Exception
                self.drop()
                raise
        self._release()

    def drop(self) -> None:
        if self.batch:
            lib.tundish_batch_get_info(self.batch, ctypes.byref(self.info))
            self._tensors = tensor_infos(self.batch, self.info)
        self._release()
        self.out = None

    def _release(self) -> None:
        if self.batch and self._pinned is not None:
            self._pinned.release(self._tensors)
        self.batch.free()
