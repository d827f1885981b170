"""Writes Chrome trace JSON for ui.perfetto.dev, atomically and with a size limit."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from typing import IO, Any

MOST_BYTES = 256 << 20  # limit for the uncompressed JSON


class ChromeFile:
    """Context manager that writes the file. The file appears only if the block ends without an error.

    A file named *.gz is compressed. `dropped` counts the events that exceed the size limit.
    """

    def __init__(self, path: str, most_bytes: int = MOST_BYTES) -> None:
        self._path, self._remaining = path, most_bytes
        self._temporary = f"{path}.tmp{os.getpid()}"
        self._file: IO[bytes] | gzip.GzipFile | None = None
        self.events = self.dropped = self.bytes = 0

    def __enter__(self) -> ChromeFile:
        if self._path.endswith(".gz"):
            self._file = gzip.open(self._temporary, "wb", compresslevel=1)
        else:
            self._file = open(self._temporary, "wb")
        self._write(b'{"displayTimeUnit":"ms","traceEvents":[')
        return self

    def add(self, event: dict[str, Any], always: bool = False) -> bool:
        """Adds an event. Returns whether the event was written.

        With `always`, the size limit is ignored. This is used for the names of tracks.
        """
        try:
            text = json.dumps(event, separators=(",", ":"), allow_nan=False).encode()
        except ValueError:  # a NaN, which JSON does not support
            self.dropped += 1
            return False
        if not always and len(text) + 2 > self._remaining:
            self.dropped += 1
            return False
        self._write((b",\n" if self.events else b"\n") + text)
        self.events += 1
        return True

    def finish(self, more: dict[str, Any]) -> None:
        """Writes additional top-level keys after the events."""
        text = json.dumps(more, separators=(",", ":"), allow_nan=False)
        self._write(b"\n]," + text[1:].encode() + b"\n")

    def __exit__(self, kind: Any, *ignored: Any) -> None:
        assert self._file is not None
        try:
            self._file.close()
            if kind is None:
                self.bytes = os.path.getsize(self._temporary)
                os.replace(self._temporary, self._path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary)

    def _write(self, text: bytes) -> None:
        assert self._file is not None
        self._file.write(text)
        self._remaining -= len(text)
