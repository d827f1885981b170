"""The C++ engine of one loader, from its creation to its end."""

from __future__ import annotations

import copy
import ctypes
import json
import os
import threading
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


class LoaderEngine:
    """Owns the handle of a C++ engine and serializes the calls that fetch a batch or start an iteration.

    The engine's threads run until end() is called or this object is garbage-collected.

    The lock is fair. A thread that waits for a batch releases the lock between short polls; with a plain lock, the
    same thread would always get it back first. Therefore each acquire() first passes through a second lock, the
    queue. The lock is reentrant, because a signal handler may run in the owning thread.

        engine.acquire()
        try: ...
        finally: engine.release()
    """

    def __init__(self, setup: Setup, source: Source, replays: bool) -> None:
        """`replays`: whether the engine recreates a batch of an earlier run."""
        self._reset_lock()
        settled, lists = _engine_arguments(setup, source, replays)
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
        self._state: dict[str, Any] = json.loads(text)  # without epoch and position
        if isinstance(source.path, list):
            self._state["run_config"]["given"] = (
                True  # the program `tundish` can replay only from a single path
            )
        for text in json.loads(lib.tundish_loader_describe(handle))["warnings"]:
            warnings.warn(text, stacklevel=3)

    def open(self) -> LoaderHandle:
        """Returns the handle. Raises an error if the loader is closed or belongs to another process."""
        if (
            os.getpid() != self._process
        ):  # after a fork, the engine's locks may be held by threads that do not exist here
            raise new_error(
                604,
                f"TND-604 the loader of {self._path} was made before a fork\n"
                "  fix: create the loader in the child process",
            )
        handle = self.handle
        if handle is None or not self._end.alive:
            raise new_error(
                606, f"TND-606 the loader of {self._path} is closed\n  fix: create a new one"
            )
        return handle

    def end(self) -> None:
        """Stops the engine's threads. Any thread may call it, and more than once.

        May raise KeyboardInterrupt, or a warning that is configured as an error.
        """
        try:
            self._end()
        finally:
            self.handle = None  # freed once no other thread is in a call with the handle

    # --- the lock -------------------------------------------------------------------------------

    def _reset_lock(self) -> None:
        self._lock_process = os.getpid()
        self._queue = threading.RLock()
        self._lock = threading.RLock()
        # A method written in C: Ctrl-C could interrupt a Python function before its first line.
        self.release = self._lock.release

    def acquire(self) -> None:
        """Waits for this thread's turn. Also works if the loader is closed, or was created before a fork."""
        if os.getpid() != self._lock_process:  # the owning thread does not exist here
            self._reset_lock()
        lock = self._lock
        owned_before = lock._is_owned()  # type: ignore[attr-defined]
        try:
            with self._queue:
                lock.acquire()
        except BaseException:  # Ctrl-C, either before or after the acquire succeeded
            if not owned_before and lock._is_owned():  # type: ignore[attr-defined]
                lock.release()
            raise

    # --- position in the run --------------------------------------------------------------------

    def state(self, epoch: int, position: int) -> dict[str, Any]:
        return {**copy.deepcopy(self._state), "epoch": epoch, "position": position}

    def position_of(self, state: Any) -> tuple[int, int]:
        """Returns the epoch and position in a state. Raises an error if this loader cannot continue from it."""
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
        del stats["tuning"]  # a list, not a number
        return stats

    def tuning(self) -> tuple[int, list[dict[str, Any]]]:
        """Returns how often threads="auto" changed its settings, and the newest changes."""
        text = lib.tundish_loader_stats(self.open())
        if text is None:
            raise last_error()
        all_ = json.loads(text)
        return all_["data/thread_changes"], all_["tuning"]

    def new_window(self) -> None:
        """Restarts the time window over which stats() computes shares and quantiles."""
        lib.tundish_loader_new_window(self.open())

    def unused_memory(self) -> int:
        """Returns the unused bytes of the loader's memory budget; 0 if the loader has ended."""
        handle = self._live_handle()  # another thread may end the loader meanwhile
        if handle is None:
            return 0
        stats = json.loads(lib.tundish_loader_stats(handle) or "{}")
        return int(stats.get("data/memory", 0) - stats.get("data/memory_used", 0))

    def write_trace(self) -> bytes | None:
        """Writes the trace recorded so far. Returns its file, or None if no trace is recorded."""
        handle = self._live_handle()
        if self._trace.file is None or handle is None:
            return None
        return self._trace.file if lib.tundish_loader_write_trace(handle) == OK else None

    def start_trace(self, file: bytes) -> None:
        """Records a trace into this file from now on, unless the loader already records one."""
        handle = self._live_handle()
        if self._trace.file is not None or handle is None:
            return
        if lib.tundish_loader_trace(handle, file) == OK:
            self._trace.file = file

    def stop_trace(self) -> None:
        """Stops the recording that start_trace() started."""
        handle = self._live_handle()
        if not self._trace.is_requested and handle is not None:
            lib.tundish_loader_trace(handle, None)
            self._trace.file = None

    def _live_handle(self) -> LoaderHandle | None:
        """Returns the handle, or None if the loader has ended or belongs to another process."""
        alive = self._end.alive and os.getpid() == self._process
        return self.handle if alive else None

    def bad_samples(self) -> list[dict[str, Any]]:
        return list(json.loads(lib.tundish_loader_bad_samples(self.open())))


def _engine_arguments(setup: Setup, source: Source, replays: bool) -> Any:
    """Returns the arguments of tundish_loader_new()."""
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
    chosen = [
        transform for transform in setup.options.transforms if type(transform).__name__ == "ToDtype"
    ]
    dtypes = [transform._json()["dtype"] for transform in chosen]
    if "image" not in dict(source.fields).values():
        dtypes += [dtype for dtype, _ in source.arrays.values()]
    if setup.backend == "numpy" and "bfloat16" in dtypes:
        raise ValueError("bfloat16 needs torch; NumPy does not have this type")


def _end_all(
    handle: LoaderHandle, batches: pinned.PinnedBatches | None, trace: traces.Trace
) -> None:
    """Stops the threads, even if an exception is raised. The memory is freed with the last reference to the handle."""
    try:
        if trace.is_wanted_at_the_end() and lib.tundish_loader_write_trace(handle) != OK:
            warnings.warn(str(last_error()), RuntimeWarning, stacklevel=3)
    finally:
        if batches is not None:  # before the call, because Ctrl-C may come after it
            pinned.leak_until_exit(batches)
        if lib.tundish_loader_end(handle):
            warnings.warn(str(last_error()), RuntimeWarning, stacklevel=3)
        elif batches is not None:
            pinned.free(batches)
