"""A data set opened by the library: what Loader and Dataset share."""

from __future__ import annotations

import ctypes
import json
import os
import weakref
from typing import Any

from ._library import last_error, lib


class Source:
    """A pack, an image folder, a .csv list or a .tar."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        name = os.fsencode(self.path)
        if b"\0" in name:  # C would see what stands before it
            raise ValueError(f"the path {self.path!r} holds a null byte")
        handle = lib.tundish_source_open(name)
        if not handle:
            raise last_error()
        self.handle = handle
        self._free = weakref.finalize(self, lib.tundish_source_close, handle)
        about = json.loads(lib.tundish_source_describe(handle))
        self.count: int = about["count"]
        self.fields: list[tuple[str, str]] = [(f["name"], f["type"]) for f in about["fields"]]
        self.classes: list[str] = about["classes"]
        self.fingerprint: str = about["fingerprint"]
        self.warnings: list[str] = about["warnings"]

    def labels(self) -> Any:
        """All labels as an int64 array; -1 where there is none."""
        import numpy as np

        out = np.empty(self.count, np.int64)
        pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
        if lib.tundish_source_labels(self.handle, pointer) != 0:
            raise last_error()
        return out
