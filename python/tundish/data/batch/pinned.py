"""Page-locked batches for torch, in memory of torch's own allocator.

A copy with non_blocking=True goes on reading its source after the call has returned, and a training
loop drops the source at once. torch's allocator notes which streams read a piece of its memory and
gives the piece out again when they are done. It does so for its own memory only: hence the engine
makes the batches in pieces that are lent to it, and each piece goes to the loop as a torch tensor.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

from ..._c.errors import last_error
from ..._c.functions import OK
from ..._c.handles import LoaderHandle
from ..._c.library import lib
from ..._c.structs import DTYPES, TensorInfo


def why_not(backend: str) -> str:
    """Empty when there is page-locked memory: of torch, or of the engine's own for NumPy."""
    if backend != "torch":
        return "" if lib.tundish_can_pin() else str(lib.tundish_last_error().decode())
    import torch

    return "" if torch.cuda.is_available() else "torch sees no GPU"


def page_locked(count: int) -> Any:
    """So many bytes as a tensor."""
    import torch

    return torch.empty(count, dtype=torch.uint8, pin_memory=True)


class PinnedBatches:
    """The pieces that the engine of one loader has, and the way back from a piece to a tensor."""

    def __init__(self, batch_size: int, prefetch: int, views: int) -> None:
        self._batch_size = batch_size
        self._pieces = views * (prefetch + 1)  # for each open batch, and for the next
        self._bytes = 0  # of a piece; known once a batch was seen
        self._lent: dict[int, Any] = {}  # by address

    def lend(self, loader: LoaderHandle) -> None:
        """Before a batch is asked for: as many pieces as the engine can have use for."""
        if self._bytes == 0:
            return
        usable = sum(piece.numel() >= self._bytes for piece in self._lent.values())
        for _ in range(self._pieces - usable):
            piece = page_locked(self._bytes)
            self._lent[piece.data_ptr()] = piece  # first: Ctrl-C may come after the call
            if lib.tundish_loader_lend(loader, piece.data_ptr(), self._bytes) != OK:
                del self._lent[piece.data_ptr()]
                raise last_error()

    def images(self, info: TensorInfo) -> Any:
        """The images of a batch. What was not made in a lent piece is copied: the first ones."""
        import torch

        dtype = getattr(torch, DTYPES[info.dtype])
        count, *others = info.sizes
        sample_bytes = math.prod(others) * dtype.itemsize
        if info.lent:
            piece = self._lent[info.data]  # until part_with(): this may be asked for again
        else:
            piece = page_locked(count * sample_bytes)
            if count:
                ctypes.memmove(piece.data_ptr(), info.data, count * sample_bytes)
            self._grow(self._batch_size * sample_bytes)
        tensor = torch.empty(0, dtype=dtype)
        return tensor.set_(piece.untyped_storage(), 0, info.sizes, info.steps)

    def part_with(self, infos: list[TensorInfo]) -> None:
        """The engine is done with the memory of this batch."""
        for info in infos:
            if info.lent:
                self._lent.pop(info.data, None)

    def _grow(self, needed: int) -> None:
        # At least twice, so that batches of ever new sizes leave few pieces that fit no more.
        if needed > self._bytes:
            self._bytes = max(needed, 2 * self._bytes)


_kept: list[PinnedBatches] = []


def keep_for_ever(pinned: PinnedBatches) -> None:
    """A thread that was left behind may still write into its pieces."""
    _kept.append(pinned)


def let_go(pinned: PinnedBatches) -> None:
    """Its threads have all ended."""
    if pinned in _kept:
        _kept.remove(pinned)
