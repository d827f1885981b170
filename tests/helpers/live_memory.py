"""Counts the bytes of live CPU tensors, operation by operation."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveMemory(TorchDispatchMode):
    """Tracks the tensors created in its `with` block. `peak` is the maximum of their total bytes."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self._known = {}

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        given = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if _is_tensor(t)}
        out = operation(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if _is_tensor(tensor) and tensor.untyped_storage()._cdata not in given:
                self._count(tensor.untyped_storage())
        return out

    def _count(self, storage):
        key = storage._cdata
        if key in self._known:
            return
        size = storage.nbytes()
        self._known[key] = weakref.finalize(storage, self._gone, key, size)
        self.now += size
        self.peak = max(self.peak, self.now)

    def _gone(self, key, size):
        del self._known[key]
        self.now -= size


def _is_tensor(value):
    return isinstance(value, torch.Tensor)
