"""Page-locked batches for torch, in memory from torch's allocator.

A copy with non_blocking=True keeps reading its source after the call returns, but a training loop drops the source
immediately. torch's allocator tracks which streams read a block of its memory, and reuses the block when they are
done. It does so only for its own memory. Therefore the engine writes batches into blocks lent by torch, and the loop
receives each block as a torch tensor.
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


def pinning_obstacle(backend: str) -> str:
    """Returns why memory cannot be page-locked, or an empty string.

    torch page-locks the memory of tensors; the engine page-locks the memory of NumPy arrays.
    """
    if backend != "torch":
        return "" if lib.tundish_can_pin() else str(lib.tundish_last_error().decode())
    import torch

    return "" if torch.cuda.is_available() else "torch sees no GPU"


def allocate_pinned(count: int) -> Any:
    """Returns a page-locked uint8 tensor of `count` bytes."""
    import torch

    return torch.empty(count, dtype=torch.uint8, pin_memory=True)


class PinnedBatches:
    """The blocks lent to the engine of one loader, and their tensors."""

    def __init__(self, batch_size: int, prefetch: int, views: int) -> None:
        self._batch_size = batch_size
        self._blocks = views * (prefetch + 1)  # blocks for each open batch, and for the next batch
        self._bytes = 0  # size of a block; known after the first batch
        self._lent: dict[int, Any] = {}  # lent blocks by address

    def lend(self, loader: LoaderHandle) -> None:
        """Lends the engine as many blocks as it can use. Call this method before requesting a batch."""
        if self._bytes == 0:
            return
        usable = sum(block.numel() >= self._bytes for block in self._lent.values())
        for _ in range(self._blocks - usable):
            block = allocate_pinned(self._bytes)
            self._lent[block.data_ptr()] = (
                block  # stored before the call, because Ctrl-C may come right after it
            )
            if lib.tundish_loader_lend(loader, block.data_ptr(), self._bytes) != OK:
                del self._lent[block.data_ptr()]
                raise last_error()

    def images(self, info: TensorInfo) -> Any:
        """Returns the images of a batch. Copies them if they are not in a lent block, as in the first batch."""
        import torch

        dtype = getattr(torch, DTYPES[info.dtype])
        count, *others = info.sizes
        sample_bytes = math.prod(others) * dtype.itemsize
        if info.lent:
            block = self._lent[info.data]  # kept until release(): a retry may need it
        else:
            block = allocate_pinned(count * sample_bytes)
            if count:
                ctypes.memmove(block.data_ptr(), info.data, count * sample_bytes)
            self._grow(self._batch_size * sample_bytes)
        tensor = torch.empty(0, dtype=dtype)
        return tensor.set_(block.untyped_storage(), 0, info.sizes, info.steps)

    def release(self, infos: list[TensorInfo]) -> None:
        """Releases the blocks of a batch once the engine is done with it."""
        for info in infos:
            if info.lent:
                self._lent.pop(info.data, None)

    def _grow(self, needed: int) -> None:
        # The size at least doubles, so that growing batches leave few blocks that are too small.
        if needed > self._bytes:
            self._bytes = max(needed, 2 * self._bytes)


_leaked: list[PinnedBatches] = []


def leak_until_exit(pinned: PinnedBatches) -> None:
    """Keeps the blocks alive until exit, because a leftover thread may still write into them."""
    _leaked.append(pinned)


def free(pinned: PinnedBatches) -> None:
    """Frees the blocks once all threads have ended."""
    if pinned in _leaked:
        _leaked.remove(pinned)
