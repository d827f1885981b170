"""A data set opened by the library: what Loader and Dataset share."""

from __future__ import annotations

import copy
import ctypes
import json
import os
from collections.abc import Sequence
from typing import Any

from .._c.errors import last_error
from .._c.functions import AGAIN, OK
from .._c.handles import SourceHandle
from .._c.library import lib
from .data_source import DataSource
from .settings.copy_to import copied

Path = str | os.PathLike[str] | DataSource
Paths = Path | Sequence[Path]  # where a Source is taken too, it is one that was opened before

_SLICE_MS = 100  # how long one call may block


def plain_paths(path: Paths) -> Any:
    """One path as text, several as a list of texts; a DataSource stays what it is."""
    if isinstance(path, Source):
        return path.path
    if isinstance(path, list | tuple):
        return [plain_paths(one) for one in path]
    if isinstance(path, DataSource):
        return path
    try:
        return os.fspath(path)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"a path is wanted, not {type(path).__name__}\n"
            '  fix: a data set of Python is packed first: tundish.pack(dataset, "train.tnd"), then "train.tnd" is the path'
        ) from None


def _open(path: str | DataSource, copy_to: Path | None) -> SourceHandle:
    name = os.fsencode(path)
    if b"\0" in name:  # C would see only what comes before it
        raise ValueError(f"the path {path!r} holds a null byte")
    if copy_to is None:
        return _open_watching(name, path.json() if isinstance(path, DataSource) else None)
    with copied(os.fspath(path), copy_to) as copy:
        handle: SourceHandle = lib.tundish_source_open_copy(name, copy.fileno())
    if not handle:
        raise last_error()
    return handle


def _open_watching(name: bytes, options: bytes | None) -> SourceHandle:
    """In slices: Python handles Ctrl-C between calls, not inside one, and a large archive takes long."""
    opening = lib.tundish_opening_new(name, options)
    if not opening:
        raise last_error()
    try:
        handle = SourceHandle()
        out = ctypes.byref(handle)
        while (result := lib.tundish_opening_wait(opening, _SLICE_MS, out)) == AGAIN:
            pass
        if result != OK:
            raise last_error()
        return handle
    finally:
        opening.free()  # at once: a traceback would keep it


def _join(parts: list[Source]) -> SourceHandle:
    handles = (ctypes.c_void_p * len(parts))(*[part.handle for part in parts])
    handle: SourceHandle = lib.tundish_source_join(handles, len(parts))
    if not handle:
        raise last_error()
    return handle


class Source:
    """A pack or any other data set; or several, concatenated."""

    def __init__(self, path: Paths, copy_to: Path | None = None) -> None:
        self.path = plain_paths(path)
        if isinstance(path, list | tuple):
            parts = [opened(one, copy_to) for one in path]
            handle = _join(parts)
            self.sizes = [part.count for part in parts]
        else:
            handle = _open(self.path, copy_to)
            self.sizes = []
        self.handle = handle
        self.on_disk = False  # it has a disk cache
        about = json.loads(lib.tundish_source_describe(handle))
        self.count: int = about["count"]
        self.fingerprint: str = about["fingerprint"]  # a pack's is its id
        self.sizes = self.sizes or [self.count]  # samples of each path
        self.fields: list[tuple[str, str]] = [(f["name"], f["type"]) for f in about["fields"]]
        # Of fields whose arrays all have one type and shape.
        self.arrays: dict[str, tuple[str, tuple[int, ...]]] = {
            f["name"]: (f["dtype"], tuple(f["shape"])) for f in about["fields"] if "dtype" in f
        }
        self.classes: list[str] = about["classes"]
        self.label_vectors: bool = about["label_vectors"]  # a number for each class
        self.warnings: list[str] = about["warnings"]

    def with_handle(self, handle: SourceHandle) -> Source:
        """The same data set through a disk cache."""
        out = copy.copy(self)
        out.handle, out.on_disk = handle, True
        return out

    def label_vector(self, number: int) -> Any:
        """The label of one sample, a float32 array, where labels are vectors."""
        import numpy as np

        out = np.empty(len(self.classes), np.float32)
        pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        if lib.tundish_source_label_vector(self.handle, number, pointer) != 0:
            raise last_error()
        return out

    def labels(self) -> Any:
        """All labels as an int64 array; -1 where there is none."""
        import numpy as np

        out = np.empty(self.count, np.int64)
        pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
        if lib.tundish_source_labels(self.handle, pointer) != 0:
            raise last_error()
        return out


def opened(path: Any, copy_to: Path | None = None) -> Source:
    """A Source, or what is to be opened."""
    return path if isinstance(path, Source) else Source(path, copy_to)
