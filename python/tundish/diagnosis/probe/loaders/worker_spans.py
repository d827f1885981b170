"""When each worker process of torch's DataLoader made its batches: a small file per worker, of fixed size.

The file is a ring of records, the newest ones overwrite the oldest, so that it can be read at any time and a worker that
is killed leaves what it had.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

RECORDS = 4096
_HEAD = struct.Struct("<8sqq")  # mark, number of the worker, records written so far
_RECORD = struct.Struct("<qqq")  # number of the batch, begin and end in ns of CLOCK_MONOTONIC
_MARK = b"tndwork1"
Span = tuple[int, int, int]


class WorkerRing:
    """Of one process. Never raises after it is made: a full disk must not end the training."""

    def __init__(self, path: str, worker: int) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._worker, self._count = worker, 0

    def add(self, begin_ns: int, end_ns: int) -> None:
        place = _HEAD.size + (self._count % RECORDS) * _RECORD.size
        try:
            os.pwrite(self._file, _RECORD.pack(self._count, begin_ns, end_ns), place)
            self._count += 1
            os.pwrite(self._file, _HEAD.pack(_MARK, self._worker, self._count), 0)
        except OSError:
            return


def read_ring(path: str) -> tuple[int, list[Span]]:
    """The worker's number and its spans, oldest first. Any bytes are taken: what is no span is left out."""
    with open(path, "rb") as file:
        data = file.read(_HEAD.size + RECORDS * _RECORD.size)
    if len(data) < _HEAD.size or data[: len(_MARK)] != _MARK:
        return 0, []
    worker = _HEAD.unpack_from(data)[1]
    whole = (len(data) - _HEAD.size) // _RECORD.size
    spans = [_RECORD.unpack_from(data, _HEAD.size + n * _RECORD.size) for n in range(whole)]
    return worker, sorted(one for one in spans if 0 < one[1] <= one[2])


class WorkerSpans:
    """Replaces fetch() of torch's data sets' fetchers. In the loop's own process it changes nothing."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._rings: dict[int, WorkerRing | None] = {}  # by process: a fork inherits this object

    def hook(self, replace: Callable[[Any, str, Callable[[Any], Any]], None]) -> None:
        module = sys.modules.get("torch.utils.data._utils.fetch")
        for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            kind = getattr(module, name, None)
            if kind is not None:
                replace(kind, "fetch", self._fetch)

    def _fetch(self, original: Any) -> Any:
        def fetch(fetcher: Any, *words: Any) -> Any:
            ring = self._ring()
            if ring is None:
                return original(fetcher, *words)
            begin = time.monotonic_ns()
            try:
                return original(fetcher, *words)
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
