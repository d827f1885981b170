"""Traces of the threads of all loaders, which `tundish doctor --timeline` records for a few steps."""

from __future__ import annotations

import glob
import itertools
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .monitoring import trace_path

if TYPE_CHECKING:
    from .engine import LoaderEngine

_folder: str | None = None  # folder of recorded traces; None: only loaders with trace= are traced
_numbers = itertools.count()
_engines: weakref.WeakSet[LoaderEngine] = weakref.WeakSet()


@dataclass
class Trace:
    """The trace of one loader. `is_requested`: whether Loader(trace=...) requested it."""

    file: bytes | None
    is_requested: bool

    def is_wanted_at_the_end(self) -> bool:
        """Returns whether a loader writes its trace when it ends. False if the doctor has already read the traces."""
        return self.file is not None and (
            self.is_requested or os.path.isdir(os.path.dirname(self.file))
        )


def new_trace(is_requested: str | os.PathLike[str] | None, rank: int) -> Trace:
    """Returns the trace of a new loader."""
    if is_requested is not None:
        return Trace(trace_path(is_requested, rank), True)
    return Trace(None if _folder is None else _new_file(_folder), False)


def _new_file(folder: str) -> bytes:
    return os.fsencode(os.path.join(folder, f"loader-{os.getpid()}-{next(_numbers)}.trace"))


def add(engine: LoaderEngine) -> None:
    _engines.add(engine)


def start(folder: str) -> None:
    """Starts to record traces of all current and future loaders of this process into this folder."""
    global _folder
    _folder = folder
    for engine in list(_engines):
        engine.start_trace(_new_file(folder))


def stop() -> list[str]:
    """Stops the recording, except for traces requested by Loader(trace=...).

    Returns the files of all live loaders, and of loaders that ended since start().
    """
    global _folder
    folder, _folder = _folder, None
    files = []
    for engine in list(_engines):
        if (file := engine.write_trace()) is not None:
            files.append(os.fsdecode(file))
        engine.stop_trace()
    ended = glob.glob(os.path.join(glob.escape(folder or ""), f"loader-{os.getpid()}-*.trace"))
    return files + sorted(set(ended) - set(files))
