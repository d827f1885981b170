"""File stamps: metadata such as size and modification time, with which changed files are detected."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import time
from dataclasses import dataclass
from typing import Any

_FORMAT = "tundish stamps 2"
_COLUMNS = 4  # per row, 8 bytes each
_MOST_ABOUT = 4096  # maximum bytes of the line before the rows
# If a file changed this shortly before its stamp was taken, it may change again without a new file system time.
_TICK_NS = 2_000_000_000


@dataclass(frozen=True)
class Stamps:
    """Size, modification time, status change time and inode of each file.

    Programs can set the modification time, but not the status change time.
    """

    values: Any  # int64 of shape (files, 4)
    taken_ns: int
    paths: str  # digest of the paths, in order

    @staticmethod
    def of(paths: list[str]) -> Stamps:
        """Takes the stamps of files. Raises OSError if a file is missing."""
        import numpy as np

        taken, names = time.time_ns(), hashlib.blake2b(digest_size=16)
        values = np.empty((len(paths), _COLUMNS), np.int64)
        for number, path in enumerate(paths):
            found = os.stat(path)
            inode = found.st_ino & (2**63 - 1)
            values[number] = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, inode)
            names.update(os.fsencode(path) + b"\0")
        return Stamps(values, taken, names.hexdigest())

    def unsure(self, now: Stamps) -> Any:
        """Returns the indices of files whose bytes may have changed since these stamps were taken."""
        import numpy as np

        if self.paths != now.paths or self.values.shape != now.values.shape:
            return np.arange(len(now.values))
        differs = (self.values != now.values).any(axis=1)
        recent = self.values[:, 2] > self.taken_ns - _TICK_NS
        return np.flatnonzero(differs | recent)


def stamps_path(pack: str) -> str:
    """Returns the path of the hidden file beside a pack that holds its stamps."""
    folder, name = os.path.split(pack)
    return os.path.join(folder, f".{name}.stamps")


def save_stamps(pack: str, pack_id: str, stamps: Stamps) -> bool:
    """Saves stamps. Returns False if the folder is not writable. Then the next run compares the files again."""
    about = {"format": _FORMAT, "pack": pack_id, "paths": stamps.paths, "taken": stamps.taken_ns}
    target = stamps_path(pack)
    scratch = ""
    try:
        with tempfile.NamedTemporaryFile(
            dir=os.path.dirname(target), prefix=os.path.basename(target), delete=False
        ) as file:
            scratch = file.name
            file.write(json.dumps(about).encode() + b"\n")
            file.write(stamps.values.astype("<i8").tobytes())
        os.replace(scratch, target)
    except OSError:
        if scratch and os.path.exists(scratch):
            os.unlink(scratch)
        return False
    return True


def load_stamps(pack: str, pack_id: str, owner: int, files: int) -> Stamps | None:
    """Loads the stamps that were saved for a pack.

    Returns None if there are no stamps, if they belong to another pack, or if an untrusted user could have written
    them.

    owner  the user who owns the files; this user is trusted, and could change the files anyway
    files  number of files; a stamp file of a different size is not read
    """
    import numpy as np

    try:
        # Without O_NONBLOCK, opening a named pipe would block until a writer appears.
        number = os.open(stamps_path(pack), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(number, "rb") as file:
            status, rows = os.fstat(number), files * _COLUMNS * 8
            if not _is_trusted(status, owner) or not rows <= status.st_size <= rows + _MOST_ABOUT:
                return None
            about = json.loads(file.readline(_MOST_ABOUT))
            content = file.read(rows + 1)
        if len(content) != rows or about["format"] != _FORMAT or about["pack"] != pack_id:
            return None
        values = np.frombuffer(content, "<i8").reshape(files, _COLUMNS).astype(np.int64)
        return Stamps(values, int(about["taken"]), str(about["paths"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_trusted(status: os.stat_result, owner: int) -> bool:
    if not stat.S_ISREG(status.st_mode) or status.st_mode & stat.S_IWOTH:
        return False
    return status.st_uid in (os.geteuid(), owner)
