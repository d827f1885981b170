"""Opens datasets with the C library, for Loader and Dataset."""

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
from .settings.copy_to import open_copy

Path = str | os.PathLike[str] | DataSource
Paths = Path | Sequence[Path]  # functions that take a Source also take an opened one

_SLICE_MS = 100  # maximum time of one blocking call


def plain_paths(path: Paths) -> Any:
    """Returns a single path as text, and several paths as a list. A DataSource is returned unchanged."""
    if isinstance(path, Source):
        return path.path
    if isinstance(path, list | tuple):
        return [plain_paths(part) for part in path]
    if isinstance(path, DataSource):
        return path
    try:
        return os.fspath(path)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"the path must be a str, os.PathLike or tundish.DataSource, not {type(path).__name__}\n"
            '  fix: pack a Python dataset first: tundish.pack(dataset, "train.tnd"), then pass "train.tnd"'
        ) from None


def _open(path: str | DataSource, copy_to: Path | None) -> SourceHandle:
    name = os.fsencode(path)
    if b"\0" in name:  # C code would see only the part before the zero byte
        raise ValueError(f"the path {path!r} holds a null byte")
    if copy_to is None:
        return _open_watching(name, path.json() if isinstance(path, DataSource) else None)
    with open_copy(os.fspath(path), copy_to) as copy:
        handle: SourceHandle = lib.tundish_source_open_copy(name, copy.fileno())
    if not handle:
        raise last_error()
    return handle


def _open_watching(name: bytes, options: bytes | None) -> SourceHandle:
    """Opens a source in short calls. A large archive takes long, and Python handles Ctrl-C only between calls."""
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
        opening.free()  # free now: a traceback could keep it alive


def _join(parts: list[Source]) -> SourceHandle:
    handles = (ctypes.c_void_p * len(parts))(*[part.handle for part in parts])
    handle: SourceHandle = lib.tundish_source_join(handles, len(parts))
    if not handle:
        raise last_error()
    return handle


class Source:
    """A pack or any other dataset, or several concatenated."""

    def __init__(self, path: Paths, copy_to: Path | None = None) -> None:
        self.path = plain_paths(path)
        if isinstance(path, list | tuple):
            parts = [as_source(part, copy_to) for part in path]
            handle = _join(parts)
            self.sizes = [part.count for part in parts]
        else:
            handle = _open(self.path, copy_to)
            self.sizes = []
        self.handle = handle
        self.on_disk = False  # whether samples are read through a disk cache
        about = json.loads(lib.tundish_source_describe(handle))
        self.count: int = about["count"]
        self.fingerprint: str = about["fingerprint"]  # the id of a pack
        self.sizes = self.sizes or [self.count]  # number of samples of each path
        self.fields: list[tuple[str, str]] = [(f["name"], f["type"]) for f in about["fields"]]
        # Fields whose arrays all have the same type and shape.
        self.arrays: dict[str, tuple[str, tuple[int, ...]]] = {
            f["name"]: (f["dtype"], tuple(f["shape"])) for f in about["fields"] if "dtype" in f
        }
        self.classes: list[str] = about["classes"]
        self.label_vectors: bool = about["label_vectors"]  # whether a label is a vector of numbers
        self.warnings: list[str] = about["warnings"]

    def with_handle(self, handle: SourceHandle) -> Source:
        """Returns the same dataset, read through the disk cache of `handle`."""
        out = copy.copy(self)
        out.handle, out.on_disk = handle, True
        return out

    def label_vector(self, number: int) -> Any:
        """Returns the label vector of one sample as a float32 array."""
        import numpy as np

        out = np.empty(len(self.classes), np.float32)
        pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        if lib.tundish_source_label_vector(self.handle, number, pointer) != 0:
            raise last_error()
        return out

    def labels(self) -> Any:
        """Returns all labels as an int64 array, with -1 for a sample without a label."""
        import numpy as np

        out = np.empty(self.count, np.int64)
        pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
        if lib.tundish_source_labels(self.handle, pointer) != 0:
            raise last_error()
        return out


def as_source(path: Any, copy_to: Path | None = None) -> Source:
    """Returns a Source unchanged, and opens anything else."""
    return path if isinstance(path, Source) else Source(path, copy_to)
