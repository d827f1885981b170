"""Loader(cache_dir=...): keeps the samples of a slow source on a local disk."""

from __future__ import annotations

import ctypes
import os
import shutil
from typing import Any

from ..._c.errors import last_error
from ..._c.library import lib
from ..open_source import Source
from .memory_budget import parse_bytes

_COUNTS = ("hits", "misses", "damaged", "bytes")
_FILES = (".part", ".records")


def cached_on_disk(source: Source, folder: Any, limit: Any) -> Source:
    """Returns a source that stores samples in `folder` when they are first read, and then reads them from there."""
    folder = os.fspath(folder)
    most = (
        default_limit(folder)
        if limit is None
        else parse_bytes(limit, "cache_dir_limit", '"200GiB"')
    )
    name = os.fsencode(folder)
    if b"\0" in name or not name:
        raise ValueError(f"cache_dir must be a path, not {folder!r}")
    handle = lib.tundish_source_cache(source.handle, name, most)
    if not handle:
        raise last_error()
    return source.with_handle(handle)


def default_limit(folder: str) -> int:
    """Returns half of the disk space available to the cache: free space plus the cache's current size."""
    used = 0
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(_FILES):
                try:
                    used += os.stat(os.path.join(path, name)).st_size
                except OSError:  # another process removed it
                    continue
    while not os.path.isdir(folder):  # use a parent if the folder does not exist yet
        folder = os.path.dirname(os.path.abspath(folder))
    return max(1, (shutil.disk_usage(folder).free + used) // 2)


def disk_stats(source: Source) -> dict[str, float]:
    """Returns the disk cache's part of Loader.stats(), which is empty without a cache_dir."""
    if not source.on_disk:
        return {}
    counts = (ctypes.c_uint64 * len(_COUNTS))()
    lib.tundish_source_cache_counts(source.handle, counts)
    return {f"data/disk_{name}": count for name, count in zip(_COUNTS, counts, strict=True)}
