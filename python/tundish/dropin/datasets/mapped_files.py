"""Which file the memory of an Arrow array is mapped from, and where in it."""

from __future__ import annotations

import bisect
import os
from typing import Any


class MappedFiles:
    """The files that this process has mapped now."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._maps: list[tuple[int, int, str]] = []  # end, offset in the file, path
        with open("/proc/self/maps", "rb") as lines:
            for line in lines:
                words = line.split(None, 5)
                if len(words) == 6 and words[5].startswith(b"/"):
                    self._add(words)

    def _add(self, words: list[bytes]) -> None:
        """Only of a file that still has its name: another may have taken its place."""
        begin, end = (int(one, 16) for one in words[0].split(b"-"))
        path = os.fsdecode(words[5].rstrip(b"\n"))
        try:
            same = os.stat(path).st_ino == int(words[4])
        except OSError:
            return
        if not same:
            return
        offset = int(words[2], 16)
        if self._maps:  # the system may show one mapping as several
            last_end, last_offset, last_path = self._maps[-1]
            follows = last_offset + last_end - self._begins[-1] == offset
            if last_end == begin and last_path == path and follows:
                self._maps[-1] = (end, last_offset, path)
                return
        self._begins.append(begin)
        self._maps.append((end, offset, path))

    def find(self, address: int, size: int) -> tuple[str, int] | None:
        """The path, and the offset of the first byte; None: this memory is of no file."""
        at = bisect.bisect_right(self._begins, address) - 1
        if at < 0:
            return None
        end, offset, path = self._maps[at]
        if address + size > end:
            return None
        return path, offset + address - self._begins[at]


def places_of(binary: Any, files: MappedFiles) -> tuple[str, Any, Any] | None:
    """The file of an Arrow array of binary values, and the offset and the size of each value in it."""
    import numpy as np

    wide = "large" in str(binary.type)
    _, ends, values = binary.buffers()
    if values is None:
        return None
    found = files.find(values.address, values.size)
    if found is None:
        return None
    all_ends = np.frombuffer(ends, np.int64 if wide else np.int32)
    ends_here = all_ends[binary.offset : binary.offset + len(binary) + 1].astype(np.int64)
    path, begin = found
    return path, begin + ends_here[:-1], np.diff(ends_here)
