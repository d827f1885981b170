"""The engine of one loader, from making it to its end."""

from __future__ import annotations

import copy
import ctypes
import json
import os
import warnings
import weakref
from typing import Any

from .._c.errors import last_error, new_error
from .._c.functions import OK
from .._c.handles import LoaderHandle
from .._c.library import lib
from . import traces
from .batch import pinned
from .gpu.device import can_pin
from .open_source import Source
from .settings.loader_options import engine_options
from .setup import Setup


class Engine:
    """Its threads end when nobody refers to it any more, or by end()."""

    def __init__(self, setup: Setup, source: Source, replays: bool) -> None:
        """`replays`: a batch of an earlier run is made again."""
        settled, lists = _settled(setup, source, replays)
        self._trace = traces.new_trace(setup.options.trace, setup.rank)
        lists.trace = self._trace.file
        _check_backend(setup, source)
        handle = lib.tundish_loader_new(
            source.handle, json.dumps(settled).encode(), ctypes.byref(lists)
        )
        if not handle:
            raise last_error()
        self.handle: LoaderHandle | None = handle  # None once closed
        self._end = weakref.finalize(self, _end_all, handle, setup.pinned, self._trace)
        self._process = os.getpid()
        traces.add(self)
        self._path = source.path
        text = lib.tundish_loader_state(handle, 0, 0)
        if text is None:
            raise last_error()
        self._state: dict[str, Any] = json.loads(text)  # but for the place
        if isinstance(source.path, list):
            self._state["run_config"]["given"] = True  # the program replays from one path
        for text in json.loads(lib.tundish_loader_describe(handle))["warnings"]:
            warnings.warn(text, stacklevel=3)

    def open(self) -> LoaderHandle:
        """The handle; an error when the loader is closed, or of another process."""
        if os.getpid() != self._process:  # its locks may be held by threads that are not here
            raise new_error(
                604,
                f"TND-604 the loader of {self._path} was made before a fork\n"
                "  fix: make the loader in the child process",
            )
        handle = self.handle
        if handle is None or not self._end.alive:
            raise new_error(
                606, f"TND-606 the loader of {self._path} is closed\n  fix: make a new one"
            )
        return handle

    def end(self) -> None:
        """Any thread, any number of times. May raise: a warning that was made an error, Ctrl-C."""
        try:
            self._end()
        finally:
            self.handle = None  # freed when no other thread is in a call with it

    # --- place in the run -----------------------------------------------------------------------

    def state(self, epoch: int, position: int) -> dict[str, Any]:
        return {**copy.deepcopy(self._state), "epoch": epoch, "position": position}

    def place_of(self, state: Any) -> tuple[int, int]:
        """Epoch and position of a state; an error when this loader cannot go on from it."""
        epoch, position = ctypes.c_uint64(), ctypes.c_uint64()
        try:
            text = json.dumps(state).encode()
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a state of tundish.Loader: {error}") from None
        places = ctypes.byref(epoch), ctypes.byref(position)
        if lib.tundish_loader_read_state(self.open(), text, *places) != OK:
            raise last_error()
        return epoch.value, position.value

    # --- monitoring -----------------------------------------------------------------------------

    def stats(self) -> dict[str, float]:
        text = lib.tundish_loader_stats(self.open())
        if text is None:
            raise last_error()
        stats: dict[str, float] = json.loads(text)
        del stats["tuning"]  # a list
        return stats

    def tuning(self) -> tuple[int, list[dict[str, Any]]]:
        """How often the number of threads was changed, and the newest changes."""
        text = lib.tundish_loader_stats(self.open())
        if text is None:
            raise last_error()
        all_ = json.loads(text)
        return all_["data/thread_changes"], all_["tuning"]

    def new_window(self) -> None:
        """Shares and quantiles of stats() are of the time from now on."""
        lib.tundish_loader_new_window(self.open())

    def unused_memory(self) -> int:
        """Bytes of its budget that it has not used so far; 0 when it has ended."""
        handle = self._living()  # another thread may end it meanwhile
        if handle is None:
            return 0
        stats = json.loads(lib.tundish_loader_stats(handle) or "{}")
        return int(stats.get("data/memory", 0) - stats.get("data/memory_used", 0))

    def write_trace(self) -> bytes | None:
        """Writes what was recorded until now; the file, or None without one."""
        handle = self._living()
        if self._trace.file is None or handle is None:
            return None
        return self._trace.file if lib.tundish_loader_write_trace(handle) == OK else None

    def start_trace(self, file: bytes) -> None:
        """Records into this file from now on, unless the loader has a trace."""
        handle = self._living()
        if self._trace.file is not None or handle is None:
            return
        if lib.tundish_loader_trace(handle, file) == OK:
            self._trace.file = file

    def stop_trace(self) -> None:
        """Ends what start_trace() began."""
        handle = self._living()
        if not self._trace.asked and handle is not None:
            lib.tundish_loader_trace(handle, None)
            self._trace.file = None

    def _living(self) -> LoaderHandle | None:
        """The handle, unless the loader has ended or is of another process."""
        alive = self._end.alive and os.getpid() == self._process
        return self.handle if alive else None

    def bad_samples(self) -> list[dict[str, Any]]:
        return list(json.loads(lib.tundish_loader_bad_samples(self.open())))


def _settled(setup: Setup, source: Source, replays: bool) -> Any:
    """What tundish_loader_new() takes."""
    return engine_options(
        setup.options,
        source.sizes,
        rank=setup.rank,
        world_size=setup.world_size,
        threads=setup.threads,
        tune_threads=setup.tunes_threads,
        prefetch=setup.prefetch,
        tune_prefetch=setup.tunes_prefetch,
        memory=setup.memory,
        cache="none" if setup.options.cache is None else setup.options.cache,
        pin_memory=setup.pin if setup.device is None else can_pin(setup.device),
        lends=setup.pinned is not None,
        for_gpu=setup.device is not None,
        replay=replays,
    )


def _check_backend(setup: Setup, source: Source) -> None:
    chosen = [one for one in setup.options.transforms if type(one).__name__ == "ToDtype"]
    dtypes = [one._json()["dtype"] for one in chosen]
    if "image" not in dict(source.fields).values():
        dtypes += [dtype for dtype, _ in source.arrays.values()]
    if setup.backend == "numpy" and "bfloat16" in dtypes:
        raise ValueError("bfloat16 needs torch: NumPy has no such type")


def _end_all(
    handle: LoaderHandle, pieces: pinned.PinnedBatches | None, trace: traces.Trace
) -> None:
    """Ends the threads, whatever is raised. The memory goes with the last reference to the handle."""
    try:
        if trace.is_wanted_at_the_end() and lib.tundish_loader_write_trace(handle) != OK:
            warnings.warn(str(last_error()), RuntimeWarning, stacklevel=3)
    finally:
        if pieces is not None:  # first: Ctrl-C may come after the call
            pinned.keep_for_ever(pieces)
        if lib.tundish_loader_end(handle):
            warnings.warn(str(last_error()), RuntimeWarning, stacklevel=3)
        elif pieces is not None:
            pinned.let_go(pieces)
