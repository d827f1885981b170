"""Temporary folders that are always removed: if their process is killed, the next process removes them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator

_LOCK = ".in-use"  # file that the creating process locks until it ends


@contextlib.contextmanager
def scratch_folder(prefix: str) -> Iterator[str]:
    """Creates a folder for a `with` block. First removes abandoned folders with the same prefix."""
    parent = tempfile.gettempdir()
    _remove_left_behind(parent, prefix)
    folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
    try:
        path = os.path.join(folder, _LOCK)
        with open(f"{path}.new", "wb") as lock:
            _try_lock(lock.fileno())
            os.rename(lock.name, path)  # so that the file is always locked when it becomes visible
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left_behind(parent: str, prefix: str) -> None:
    """Removes abandoned folders. Keeps a folder without a lock file: it is new, or not from scratch_folder()."""
    with contextlib.suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(prefix):
                _remove_if_unlocked(os.path.join(parent, name))


def _remove_if_unlocked(folder: str) -> None:
    try:
        status = os.lstat(folder)
        if status.st_uid != os.geteuid():
            return
        lock = os.open(os.path.join(folder, _LOCK), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if _try_lock(lock):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
