"""Protects worker processes that are forked while tensors are on a GPU.

A forked process has a copy of every Python object, including its parent's garbage. If its garbage collector
frees a tensor that another stream used, torch calls CUDA, which does not work in a forked process, and the
worker dies. So every forked process keeps its parent's garbage until it exits.
"""

from __future__ import annotations

import gc
import os

_registered = False


def freeze_garbage_in_children() -> None:
    """Freezes the parent's garbage in processes forked from now on. Registers once per process."""
    global _registered
    if not _registered:
        _registered = True
        os.register_at_fork(after_in_child=gc.freeze)
