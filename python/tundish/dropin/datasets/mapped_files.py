"""Finds the file and offset that the memory of an Arrow array is mapped from."""

from __future__ import annotations

import bisect
import os
from typing import Any


class MappedFiles:
    """The files currently mapped by this process."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._maps: list[tuple[int, int, str]] = []  # (end address, offset in the file, path)
        with open("/proc/self/maps", "rb") as lines:
            for line in lines:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].startswith(b"/"):
                    self._add(fields)

    def _add(self, fields: list[bytes]) -> None:
        """Adds a mapping, unless another file now has the name of the mapped file."""
        begin, end = (int(address, 16) for address in fields[0].split(b"-"))
        path = os.fsdecode(fields[5].rstrip(b"\n"))
        try:
            same = os.stat(path).st_ino == int(fields[4])
        except OSError:
            return
        if not same:
            return
        offset = int(fields[2], 16)
        if self._maps:  # the kernel may list one mapping in several lines
            last_end, last_offset, last_path = self._maps[-1]
            follows = last_offset + last_end - self._begins[-1] == offset
            if last_end == begin and last_path == path and follows:
                self._maps[-1] = (end, last_offset, path)
                return
        self._begins.append(begin)
        self._maps.append((end, offset, path))

    def find(self, address: int, size: int) -> tuple[str, int] | None:
        """Returns the file and the offset of the first byte, or None if the memory is not mapped from a file."""
        at = bisect.bisect_right(self._begins, address) - 1
        if at < 0:
            return None
        end, offset, path = self._maps[at]
        if address + size > end:
            return None
        return path, offset + address - self._begins[at]


def places_of(binary: Any, files: MappedFiles) -> tuple[str, Any, Any] | None:
    """Returns the file behind an Arrow array of binary values, with the offset and size of each value."""
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
