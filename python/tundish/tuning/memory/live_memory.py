"""Counts the bytes of live tensors, operation by operation.

`LiveMemory` intercepts every operation that torch dispatches. It counts a storage from the operation that
returns it until the last reference to it is gone. This works for real tensors and for fake tensors, which
have sizes but no memory. Memory that a kernel allocates and frees internally is not counted.
"""

from __future__ import annotations

import types
import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..source_lines import Line, current_line

_GPU_BLOCK = 512  # torch's GPU allocator rounds sizes up to multiples of this

# Matrix products that run in cuBLAS, which allocates one workspace per calling thread.
_PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "_addmm_activation", "addmv", "dot"}


@dataclass(eq=False)
class Block:
    """A tensor storage. `made`, `used` and `freed` are operation numbers."""

    bytes: int
    kind: str
    line: Line
    made: int
    used: int
    freed: int | None = None
    storage: Any = None  # weak reference
    tensor: Any = None  # weak reference to the first tensor of this storage


@dataclass
class Peak:
    bytes: int = 0
    operation: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)


class LiveMemory(TorchDispatchMode):  # type: ignore[misc]
    """Dispatch mode that tracks live storages: `with LiveMemory(device) as live:`.

    Tracks the current thread, and autograd's threads while they work for this thread.

    Each storage has a kind. A new storage is "temporary" until `name(tensors, kind)` sets another kind.
    A storage that existed before tracking began is "other" until it is named.
    """

    def __init__(
        self,
        device: torch.device | None = None,
        lines: bool = False,
        stop: types.CodeType | None = None,
    ) -> None:
        super().__init__()
        self.device = device  # None: all devices
        self.live: dict[int, Block] = {}
        self.by_kind: Counter[str] = Counter()
        self.bytes = 0
        self.phase = "forward"
        self.peaks: dict[str, Peak] = {}
        self.products: set[str] = set()  # phases that multiply matrices
        self.operations = 0
        self.made: list[Block] | None = [] if lines else None
        self._stop = stop  # the function that calls the user's code

    def name(self, tensors: Iterable[Any], kind: str) -> None:
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor):
                block = self._block(tensor, kind)
                if block is not None and block.kind != kind:
                    self.by_kind[block.kind] -= block.bytes
                    self.by_kind[kind] += block.bytes
                    block.kind = kind
        self._note_peak()

    def rename(self, old: str, new: str) -> None:
        for block in self.live.values():
            if block.kind == old:
                block.kind = new
        self.by_kind[new] += self.by_kind.pop(old, 0)

    def peak(self) -> int:
        return max((peak.bytes for peak in self.peaks.values()), default=0)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.operations += 1
        if func.overloadpacket.__name__ in _PRODUCTS:
            self.products.add(self.phase)
        for tensor in tree_leaves((args, kwargs)):
            if isinstance(tensor, torch.Tensor):
                block = self._block(tensor, "other")
                if block is not None:
                    block.used = self.operations
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self._block(tensor, "temporary")
        self._note_peak()
        return out

    def _block(self, tensor: torch.Tensor, kind: str) -> Block | None:
        """Returns the block of the tensor. Creates the block if the storage is new."""
        if self.device is not None and tensor.device != self.device:
            return None
        try:
            storage = tensor.untyped_storage()
        except RuntimeError:  # a sparse tensor has no storage
            return None
        key, size = storage._cdata, self._rounded(storage.nbytes())
        block = self.live.get(key)
        if block is None:
            block = Block(size, kind, self._line(), self.operations, self.operations)
            block.storage = weakref.ref(storage, lambda _: self._free(key))
            block.tensor = weakref.ref(tensor)
            self.live[key] = block
            self._add(kind, size)
            if self.made is not None:
                self.made.append(block)
        elif block.bytes != size:  # the storage was resized
            self._add(block.kind, size - block.bytes)
            block.bytes = size
        return block

    def _line(self) -> Line:
        return Line() if self.made is None else current_line(self._stop)

    def _rounded(self, size: int) -> int:
        gpu = self.device is not None and self.device.type == "cuda"
        return -(-size // _GPU_BLOCK) * _GPU_BLOCK if gpu else size

    def _add(self, kind: str, size: int) -> None:
        self.bytes += size
        self.by_kind[kind] += size

    def _free(self, key: int) -> None:
        block = self.live.pop(key)
        block.freed = self.operations
        self._add(block.kind, -block.bytes)

    def _note_peak(self) -> None:
        peak = self.peaks.setdefault(self.phase, Peak())
        if self.bytes >= peak.bytes:
            peak.bytes, peak.operation = self.bytes, self.operations
            peak.by_kind = Counter(self.by_kind)
