"""Protects worker processes that are forked while tensors are on a GPU.

A forked process has a copy of every Python object, including its parent's uncollected garbage. If its garbage
collector frees a tensor that was used on another CUDA stream, torch calls CUDA. CUDA does not work in a forked
process, so the worker dies. Therefore every forked process keeps its parent's garbage until it exits.
"""

from __future__ import annotations

import gc
import os

_registered = False


def freeze_garbage_in_children() -> None:
    """Makes processes that are forked from now on keep their parent's garbage. Registers once per process."""
    global _registered
    if not _registered:
        _registered = True
        os.register_at_fork(after_in_child=gc.freeze)
