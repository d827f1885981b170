"""What loaders' threads do, recorded for `tundish doctor --timeline` while its recorded steps run."""

from __future__ import annotations

import glob
import itertools
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .monitoring import trace_path

if TYPE_CHECKING:
    from .engine import Engine

_folder: str | None = None  # None: only loaders that ask for a trace have one
_numbers = itertools.count()
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


@dataclass
class Trace:
    """Of one loader. `asked`: by Loader(trace=...)."""

    file: bytes | None
    asked: bool

    def is_wanted_at_the_end(self) -> bool:
        """Whether a loader that ends writes it. The doctor's folder goes when it has read it."""
        return self.file is not None and (self.asked or os.path.isdir(os.path.dirname(self.file)))


def new_trace(asked: str | os.PathLike[str] | None, rank: int) -> Trace:
    """Of a new loader."""
    if asked is not None:
        return Trace(trace_path(asked, rank), True)
    return Trace(None if _folder is None else _new_file(_folder), False)


def _new_file(folder: str) -> bytes:
    return os.fsencode(os.path.join(folder, f"loader-{os.getpid()}-{next(_numbers)}.trace"))


def add(engine: Engine) -> None:
    _engines.add(engine)


def start(folder: str) -> None:
    """All loaders of this process record into this folder, those that live and those to come."""
    global _folder
    _folder = folder
    for one in list(_engines):
        one.start_trace(_new_file(folder))


def stop() -> list[str]:
    """Nothing is recorded any more but what was asked for. The files of all loaders that live, and of those
    that ended since start()."""
    global _folder
    folder, _folder = _folder, None
    files = []
    for one in list(_engines):
        if (file := one.write_trace()) is not None:
            files.append(os.fsdecode(file))
        one.stop_trace()
    ended = glob.glob(os.path.join(glob.escape(folder or ""), f"loader-{os.getpid()}-*.trace"))
    return files + sorted(set(ended) - set(files))
