"""Records when DataLoader workers produced their batches, in one fixed-size file per worker.

Each file is a ring buffer, in which new records overwrite the oldest ones. A file can be read at any
time, even after its worker was killed.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

RECORDS = 4096
_HEADER = struct.Struct("<8sqq")  # magic bytes, number of the worker, number of records written
_RECORD = struct.Struct("<qqq")  # number of the batch, begin and end in ns of CLOCK_MONOTONIC
_MAGIC = b"tndwork1"
Span = tuple[int, int, int]


class WorkerRing:
    """Writes the file of one worker. add() never raises, because a full disk must not end the training."""

    def __init__(self, path: str, worker: int) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._worker, self._count = worker, 0

    def add(self, begin_ns: int, end_ns: int) -> None:
        offset = _HEADER.size + (self._count % RECORDS) * _RECORD.size
        try:
            os.pwrite(self._file, _RECORD.pack(self._count, begin_ns, end_ns), offset)
            self._count += 1
            os.pwrite(self._file, _HEADER.pack(_MAGIC, self._worker, self._count), 0)
        except OSError:
            return


def read_ring(path: str) -> tuple[int, list[Span]]:
    """Returns the worker's number and its spans, oldest first. Skips invalid records."""
    with open(path, "rb") as file:
        data = file.read(_HEADER.size + RECORDS * _RECORD.size)
    if len(data) < _HEADER.size or data[: len(_MAGIC)] != _MAGIC:
        return 0, []
    worker = _HEADER.unpack_from(data)[1]
    whole = (len(data) - _HEADER.size) // _RECORD.size
    spans = [_RECORD.unpack_from(data, _HEADER.size + n * _RECORD.size) for n in range(whole)]
    return worker, sorted(span for span in spans if 0 < span[1] <= span[2])


class WorkerSpans:
    """Times fetch() of torch's dataset fetchers in worker processes."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._rings: dict[
            int, WorkerRing | None
        ] = {}  # by process id, because a forked worker inherits this object

    def hook(self, replace: Callable[[Any, str, Callable[[Any], Any]], None]) -> None:
        module = sys.modules.get("torch.utils.data._utils.fetch")
        for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            kind = getattr(module, name, None)
            if kind is not None:
                replace(kind, "fetch", self._fetch)

    def _fetch(self, original: Any) -> Any:
        def fetch(fetcher: Any, *args: Any) -> Any:
            ring = self._ring()
            if ring is None:
                return original(fetcher, *args)
            begin = time.monotonic_ns()
            try:
                return original(fetcher, *args)
            finally:
                ring.add(begin, time.monotonic_ns())

        return fetch

    def _ring(self) -> WorkerRing | None:
        process = os.getpid()
        if process not in self._rings:
            self._rings[process] = self._new_ring(process)
        return self._rings[process]

    def _new_ring(self, process: int) -> WorkerRing | None:
        about = sys.modules["torch"].utils.data.get_worker_info()
        if about is None:
            return None
        path = os.path.join(self._folder, f"{os.getppid()}-{process}.worker")
        try:
            return WorkerRing(path, int(about.id))
        except OSError:
            return None
