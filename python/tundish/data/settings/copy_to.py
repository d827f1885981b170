"""Loader(copy_to="/dev/shm"): a copy of the pack in memory, or on a fast disk, for the loader's time.

The copy has no name: it was never visible in the folder, and it is gone when the last process that
has it open ends, however that ends.
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
_SAY_EVERY_S = 10.0


def copied(path: str, folder: str | os.PathLike[str]) -> Any:
    """A file object with the bytes of the pack. OSError when there is no room."""
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
        room, why = left, f"this process may take {text(left)} of memory"
    if size > room:
        raise OSError(f"copy_to: {path} has {text(size)}, {why}")


def _is_memory(folder: str | os.PathLike[str]) -> bool:
    """Whether files there are kept in memory."""
    wanted = os.stat(folder).st_dev
    try:
        with open("/proc/self/mountinfo") as file:
            for line in file:
                words = line.split()
                major, minor = words[2].split(":")
                if os.makedev(int(major), int(minor)) == wanted:
                    return words[words.index("-") + 1] in ("tmpfs", "ramfs")
    except OSError:
        pass
    return False


def _copy(source: Any, copy: Any, size: int, path: str, folder: str | os.PathLike[str]) -> None:
    log = logging.getLogger("tundish")
    done, said = 0, time.monotonic()
    while done < size:
        count = os.sendfile(copy.fileno(), source.fileno(), None, min(_PIECE, size - done))
        if count == 0:
            raise OSError(f"copy_to: {path} became shorter while it was copied")
        done += count
        if time.monotonic() - said > _SAY_EVERY_S:
            said = time.monotonic()
            log.info("copy_to: %s of %s in %s", text(done), text(size), os.fspath(folder))
