"""The batch on its way from the engine to the loop.

It stays here until it is handed out. What is raised in between, by Ctrl-C or a warning that was made
an error, loses nothing: the next call gives the batch.
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
        self.decoding = decoding  # who decodes
        self.batch = BatchHandle()  # empty, or what the engine gave
        self.info = BatchInfo()
        self._tensors: list[TensorInfo] = []  # of the batch
        self.out: Any = None  # what the loop gets
        self.given: Any = None  # of a GPU

    def here(self) -> bool:
        return self.out is not None or bool(self.batch)

    def end_of_epoch(self) -> bool:
        return False

    def stats(self, reset: bool) -> dict[str, float]:
        """Of a GPU: gpu/lag.py."""
        return {"data/gpu_wait_s": 0.0, "data/gpu_wait_share": 0.0, "data/gpu_decoded": 0}

    def take_error(self) -> Exception | None:
        return None  # the engine's come from its next batch

    def assemble(self, make: Callable[[BatchHandle, list[TensorInfo]], Any]) -> None:
        """Every step may be interrupted, and is then done again. Without a batch: another thread has just taken it."""
        if self.out is None and self.batch:
            lib.tundish_batch_get_info(self.batch, ctypes.byref(self.info))
            self._tensors = tensor_infos(self.batch, self.info)
            try:
                self.out = make(self.batch, self._tensors)
            except Exception:  # it would come again and again; Ctrl-C is none
                self.drop()
                raise
        self._let_go()

    def drop(self) -> None:
        if self.batch:
            lib.tundish_batch_get_info(self.batch, ctypes.byref(self.info))
            self._tensors = tensor_infos(self.batch, self.info)
        self._let_go()
        self.out = None

    def _let_go(self) -> None:
        if self.batch and self._pinned is not None:
            self._pinned.part_with(self._tensors)
        self.batch.free()
