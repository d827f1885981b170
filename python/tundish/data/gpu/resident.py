"""Keeps a whole dataset in GPU memory, as the records that the lanes codec stored in its pack."""

from __future__ import annotations

import sys
import time
from typing import Any

from ..._c.errors import last_error
from ..._c.functions import ERROR, OK
from ..._c.handles import ResidentHandle, SourceHandle
from ..._c.library import lib

_LOAD = 64  # samples loaded per call; Ctrl-C is handled between calls


def make_resident(source: SourceHandle, path: str, device: Any) -> ResidentHandle:
    """Loads the lanes records of a source into GPU memory. Shows progress on a terminal."""
    import torch

    with torch.cuda.device(device):
        resident: ResidentHandle = lib.tundish_resident_new(source, device.index)
    if not resident:
        raise last_error()
    count = int(lib.tundish_source_count(source))
    size = int(lib.tundish_resident_bytes(resident))
    begin = shown = time.monotonic()
    while (result := lib.tundish_resident_load(resident, _LOAD)) == OK:
        now = time.monotonic()
        if now - shown > 0.5 and sys.stderr.isatty():
            shown = now
            done = lib.tundish_resident_loaded(resident) / max(count, 1)
            left = (now - begin) * (1 - done) / done
            text = f"{path}: {done:.0%} of {size / 1e9:.1f} GB on the GPU, {left:.0f} s left"
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
    if shown != begin:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if result == ERROR:
        raise last_error()
    return resident
