"""Loader(copy_to="/dev/shm"): keeps a copy of the pack in memory or on a fast disk while the loader exists.

The copy is a file without a name. It never appears in the folder, and it vanishes when the last process that has it
open ends, for whatever reason.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from typing import Any

from ..._c.library import lib
from .memory_budget import text

_PIECE = 16 << 20
_LOG_EVERY_S = 10.0


def open_copy(path: str, folder: str | os.PathLike[str]) -> Any:
    """Returns an open file with a copy of the pack. Raises OSError if there is not enough space."""
    if not os.path.isfile(path):
        raise ValueError(f"copy_to copies a pack, one file; {path!r} is not a file")
    with open(path, "rb") as source:
        size = os.fstat(source.fileno()).st_size
        _check_room(path, size, folder)
        copy = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller closes it
        try:
            _copy(source, copy, size, path, folder)
        except BaseException:
            copy.close()
            raise
    return copy


def _check_room(path: str, size: int, folder: str | os.PathLike[str]) -> None:
    place = os.statvfs(folder)
    room = place.f_bavail * place.f_frsize
    why = f"{os.fspath(folder)} has {text(room)}"
    left = int(lib.tundish_memory_left())
    if _is_memory(folder) and 0 < left < room:
        room, why = left, f"this process may use {text(left)} of memory"
    if size > room:
        raise OSError(f"copy_to: {path} has {text(size)}, {why}")


def _is_memory(folder: str | os.PathLike[str]) -> bool:
    """Returns whether files in this folder are kept in memory."""
    device = os.stat(folder).st_dev
    try:
        with open("/proc/self/mountinfo") as file:
            for line in file:
                fields = line.split()
                major, minor = fields[2].split(":")
                if os.makedev(int(major), int(minor)) == device:
                    return fields[fields.index("-") + 1] in ("tmpfs", "ramfs")
    except OSError:
        pass
    return False


def _copy(source: Any, copy: Any, size: int, path: str, folder: str | os.PathLike[str]) -> None:
    log = logging.getLogger("tundish")
    done, logged = 0, time.monotonic()
    while done < size:
        count = os.sendfile(copy.fileno(), source.fileno(), None, min(_PIECE, size - done))
        if count == 0:
            raise OSError(f"copy_to: {path} became shorter during the copy")
        done += count
        if time.monotonic() - logged > _LOG_EVERY_S:
            logged = time.monotonic()
            log.info("copy_to: %s of %s in %s", text(done), text(size), os.fspath(folder))
