"""Worker processes that are forked while tensors are on a GPU.

A forked process has a copy of every Python object, the garbage of its parent too. If its garbage collector frees a tensor that
another stream used, torch asks CUDA, which does not work in a forked process, and the worker dies. So garbage
of the parent stays where it is in every forked process: it is gone with the process.
"""

from __future__ import annotations

import gc
import os

_registered = False


def keep_garbage_in_children() -> None:
    """Once for this process, as soon as batches are copied to a GPU."""
    global _registered
    if not _registered:
        _registered = True
        os.register_at_fork(after_in_child=gc.freeze)
