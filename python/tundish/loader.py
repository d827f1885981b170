"""The loader: `for images, labels in tundish.Loader("train.tnd", batch_size=256): ...`"""

from __future__ import annotations

import copy
import ctypes
import functools
import inspect
import json
import os
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from . import checks, memory_budget, monitoring, pinned
from ._library import (
    AGAIN,
    END,
    ERROR,
    OK,
    BatchHandle,
    BatchInfo,
    LoaderHandle,
    last_error,
    lib,
    new_error,
)
from .arriving import Arriving
from .assemble import Assembler
from .dataset import Dataset
from .device import AHEAD, ArrivingOnGpu, can_pin, device_of, on_gpu
from .iterating import LoaderIterator, Sampler, Turn
from .options import LoaderOptions, arguments_text, engine_options, make_options
from .replay import Replayed, replay
from .source import Paths, Source, plain_paths
from .transforms import ToDtype
from .world import local_world_size, rank_and_world_size

_SLICE_MS = 100  # how long one call may block; Ctrl-C is seen in between


class Loader:
    """Batches of a pack (or of a folder, list or tar) for training.

    Yields (images, labels), with return_index also the sample numbers: torch tensors when torch
    can be imported, otherwise NumPy arrays. Images are uint8 until Normalize or ToDtype; their
    shape is (N, 3, H, W) in channels_last memory. The batches are bit-identical for any number of
    threads, and for any split of a global batch over ranks. Threads of the program may share a loader, and
    its iterator: each batch goes to one of them.

    path             a .tnd file, an image folder, a .csv/.tsv list, an uncompressed .tar; or a list of
                     several that have the same classes, as one
    """

    _replays = False  # replay.py's does: a batch is made again

    def __init__(self, path: Paths, batch_size: int = 1, **options: Any) -> None:
        self._options = options_ = make_options({"batch_size": batch_size, **options})
        self.path = plain_paths(path)
        self.rank, self.world_size = rank_and_world_size(options_.rank, options_.world_size)
        self._backend, from_tensor, from_numpy = checks.backend(options_.backend)
        self._hang_ms = checks.milliseconds(options_.hang_warning, "hang_warning")
        self.device = device_of(options_.device, self._backend)  # None: host memory
        self.batch_size = batch_size
        self.shuffle = bool(options_.shuffle)
        self.drop_last = bool(options_.drop_last) or options_.uneven == "drop"
        self.threads = options_.threads
        if self.threads is None:
            self.threads = max(1, lib.tundish_usable_cpus() // local_world_size())
        self.memory = memory_budget.of_options(options_)  # bytes; 0: not counted
        self._pinned = self._pinned_batches()

        self._source = Source(self.path, options_.copy_to)
        for text in self._source.warnings:
            warnings.warn(text, stacklevel=2)
        self._assembler = Assembler(
            fields=self._source.fields,
            from_tensor=from_tensor,
            from_numpy=from_numpy,
            pinned=self._pinned,
            as_dict=bool(options_.as_dict),
            return_index=bool(options_.return_index),
            new_labels=options_.labels is not None,
        )
        self._make_engine()

        # Changed by the thread that has the turn, and where a batch is handed out.
        self._turn = Turn()
        self._place = (0, 0)  # epoch, position: what was handed out so far
        self._arriving: Arriving | ArrivingOnGpu = Arriving(self._pinned)
        if self.device is not None:
            self._arriving = on_gpu(self._open(), self._source, self.device, options_)
        self._in_progress = False
        self._taken = False  # a batch of the iteration in progress
        self._wanted_epoch: int | None = None  # set once a batch was taken
        self._iteration = 0  # number of the newest
        self._ended = 0  # number of the last one that came to the end of its epoch
        self._warned = False
        self._on_batch: Callable[[ctypes.c_void_p], None] | None = None  # for replay
        self.sampler = Sampler(self)
        memory_budget.promise(self)  # last: a loader that could not be made promises nothing

    @property
    def decoding(self) -> str | None:
        """Who decodes: "cpu" or "gpu"; None while decode="auto" has not chosen yet."""
        return self._arriving.decoding

    def _pinned_batches(self) -> pinned.PinnedBatches | None:
        """With torch the batches are made in torch's own memory; otherwise the engine locks its own."""
        self._pin = bool(self._options.pin_memory) and self.device is None
        if self._pin and (reason := pinned.why_not(self._backend)):
            warnings.warn(f"pin_memory is left out: {reason}", stacklevel=3)
            self._pin = False
        if not self._pin or self._backend != "torch":
            return None
        self._pin = False
        return pinned.PinnedBatches(
            self.batch_size, checks.positive(self._options.prefetch, "prefetch")
        )

    def _make_engine(self) -> None:
        options = self._options
        settled, lists = engine_options(
            options,
            self._source.sizes,
            rank=self.rank,
            world_size=self.world_size,
            threads=self.threads,
            memory=self.memory,
            cache=self._cache(),
            pin_memory=self._pin if self.device is None else can_pin(self.device),
            lent_batches=self._lent_batches(),
            for_gpu=self.device is not None,
            replay=self._replays,
        )
        if self._backend == "numpy" and any(
            isinstance(one, ToDtype) and one._json()["dtype"] == "bfloat16"
            for one in options.transforms
        ):
            raise ValueError("bfloat16 needs torch: NumPy has no such type")
        handle = lib.tundish_loader_new(
            self._source.handle, json.dumps(settled).encode(), ctypes.byref(lists)
        )
        if not handle:
            raise last_error()
        self._handle: LoaderHandle | None = handle  # none once closed
        self._end = weakref.finalize(self, _end_all, handle, self._pinned)
        self._process = os.getpid()
        text = lib.tundish_loader_state(handle, 0, 0)
        if text is None:
            raise last_error()
        self._state: dict[str, Any] = json.loads(text)  # but for the place
        if isinstance(self.path, list):
            self._state["run_config"]["given"] = True  # the program replays from one path
        for text in json.loads(lib.tundish_loader_describe(handle))["warnings"]:
            warnings.warn(text, stacklevel=3)

    def _lent_batches(self) -> int:
        """Batches in torch's memory at once: they count as the loader's too."""
        if self.device is not None:
            return AHEAD + 2
        return 0 if self._pinned is None else self._options.prefetch + 2

    def _cache(self) -> str:
        cache = self._options.cache
        if self.device is not None and cache == "auto" and self._options.decode == "gpu":
            return "encoded"
        return "none" if cache is None else cache

    # --- iterating --------------------------------------------------------------------------

    def __len__(self) -> int:
        """Batches per epoch; the same on every rank."""
        return int(lib.tundish_loader_steps(self._open(), 0))

    def __iter__(self) -> Iterator[Any]:
        self._open()
        self._turn.begin()
        try:
            if self._taken:  # the last iteration was left early
                self._go_to_next_epoch(self._ended)
            self._start()
            self._iteration += 1
            return LoaderIterator(self, self._iteration)
        finally:
            self._turn.end()

    def _start(self) -> None:
        self._arriving.drop()
        if lib.tundish_loader_start(self._open(), *self._place) != OK:
            raise last_error()
        self._in_progress = True

    def _go_to_next_epoch(self, ended: int) -> None:
        # No call: Ctrl-C, and other threads, see all of it or nothing.
        epoch = self._place[0] + 1 if self._wanted_epoch is None else self._wanted_epoch
        self._place, self._wanted_epoch, self._ended = (epoch, 0), None, ended
        self._in_progress = self._taken = False

    def _next(self, iteration: int) -> Any:
        while True:
            while not self._advance(iteration):
                if self._hang_ms:
                    self._warn_about_hanging()
            if not self._warned:
                self._warn_about_bad_samples()
            arriving = self._arriving
            # No call below: Ctrl-C comes before, and the batch is kept, or after, and the loop has it. Nor
            # does another thread come in between; one may have been faster, or begun an iteration.
            if iteration == self._iteration and arriving.out is not None:
                out, arriving.out, arriving.given = arriving.out, None, None
                self._place = (self._place[0], arriving.info.next_position)
                self._taken = True
                return out

    def _advance(self, iteration: int) -> bool:
        """Waits for one slice. True: a batch is here. Raises StopIteration when the epoch is over."""
        self._open()
        self._turn.begin()
        try:
            handle, arriving = self._open(), self._arriving
            if iteration == self._ended:  # another thread has seen the end of the epoch
                raise StopIteration
            if iteration != self._iteration:
                raise RuntimeError("a newer iteration over this loader has begun; this one is over")
            if not arriving.here():
                result = self._ask(handle, arriving)
                if result == AGAIN:
                    return False
                if result == END:
                    if arriving.end_of_epoch():
                        return False  # the engine judges what was found
                    self._go_to_next_epoch(iteration)
                    raise StopIteration
            arriving.assemble(self._assemble)
            return True
        finally:
            self._turn.end()

    def _ask(self, handle: LoaderHandle, arriving: Arriving | ArrivingOnGpu) -> int:
        """The engine for the next batch."""
        error = arriving.take_error()
        if error is not None:
            self._taken = True
            raise error
        if self._pinned is not None:
            self._pinned.lend(handle)
        result = int(lib.tundish_loader_next(handle, _SLICE_MS, ctypes.byref(arriving.batch)))
        if result == ERROR:
            self._taken = True  # the error was of a batch, which does not come again
            raise last_error()
        return result

    def _assemble(self, batch: BatchHandle, info: BatchInfo, there: list[Any] | None = None) -> Any:
        if self._on_batch is not None:
            self._on_batch(batch)
        return self._assembler(batch, info, there)

    def _warn_about_bad_samples(self) -> None:
        if lib.tundish_loader_bad_positions(self._open()) == 0:
            return
        self._warned = True
        warnings.warn(monitoring.about_bad(self.bad_samples()[0]), stacklevel=4)

    def _warn_about_hanging(self) -> None:
        text = lib.tundish_loader_hanging(self._open(), self._hang_ms)
        if text:
            warnings.warn(monitoring.about_hanging(text), RuntimeWarning, stacklevel=4)

    # --- place in the run -------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Number of the epoch in progress, from 0; between two iterations that of the next one."""
        return self._place[0]

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, or the one in progress that has given no batch yet.

        Keeps the place of a state just loaded for it.
        """
        epoch = checks.whole(epoch, "epoch", least=0, most=2**63 - 1)
        self._turn.begin()
        try:
            if self._taken:
                self._wanted_epoch = epoch
            elif epoch != self._place[0]:
                self._place = (epoch, 0)
                if self._in_progress:
                    self._start()
        finally:
            self._turn.end()

    def state_dict(self) -> dict[str, Any]:
        """A few integers and strings (JSON); the same on every rank: what was handed out so far."""
        epoch, position = self._place  # at once: another thread may take the next batch
        return {**copy.deepcopy(self._state), "epoch": epoch, "position": position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where the state was saved, with any threads, rank, world size and batch size."""
        place = self._place_of(state)
        self._turn.begin()
        try:
            self._iteration += 1  # the one in progress is over
            self._arriving.drop()
            self._in_progress = self._taken = False
            self._place, self._wanted_epoch = place, None
        finally:
            self._turn.end()

    def _place_of(self, state: Any) -> tuple[int, int]:
        """Epoch and position of a state; an error when this loader cannot go on from it."""
        epoch, position = ctypes.c_uint64(), ctypes.c_uint64()
        try:
            text = json.dumps(state).encode()
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a state of tundish.Loader: {error}") from None
        if (
            lib.tundish_loader_read_state(
                self._open(), text, ctypes.byref(epoch), ctypes.byref(position)
            )
            != OK
        ):
            raise last_error()
        return epoch.value, position.value

    def replay(self, state: dict[str, Any], rank: int | None = None) -> Replayed:
        """The batch that followed this state, made again, with what was done to each image.

        Batch size, world size, uneven and on_error are those of the run that saved it; `rank` is by default
        this loader's. `images, labels = loader.replay(state).batch`; `.plans` has a dict per image:
        position, sample, repeat, crop, flips. The loader itself stays where it is.
        """
        self._place_of(state)  # a state may come from anywhere
        options = {**_given(self._options), "rank": self.rank, "world_size": self.world_size}
        return replay(self.path, options, state, rank)

    # --- monitoring ---------------------------------------------------------------------------

    def _stats(self) -> dict[str, float]:
        text = lib.tundish_loader_stats(self._open())
        if text is None:
            raise last_error()
        stats: dict[str, float] = json.loads(text)
        return stats

    def unused_memory(self) -> int:
        """Bytes of its budget that it has not used so far."""
        handle = self._handle  # another thread may close the loader meanwhile
        if handle is None or not self._end.alive or os.getpid() != self._process:
            return 0
        stats = json.loads(lib.tundish_loader_stats(handle) or "{}")
        return int(stats.get("data/memory", 0) - stats.get("data/memory_used", 0))

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Flat, ready for a logger: what was delivered, what it cost, what the trainer waited.

        Sums are since the loader was made; shares and quantiles since the last stats(reset=True).
        """
        stats = self._stats() | self._arriving.stats(reset)
        if reset:
            lib.tundish_loader_new_window(self._open())
        return stats

    def bad_samples(self) -> list[dict[str, Any]]:
        """The first 10,000 samples that could not be loaded: file, record, byte, why, what came instead."""
        return list(json.loads(lib.tundish_loader_bad_samples(self._open())))

    def report(self) -> dict[str, Any]:
        """Exact counts and bad_samples(), ready for JSON."""
        return monitoring.report(self.path, self._stats(), self.bad_samples())

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """JSON when the name ends in .json, otherwise a table."""
        monitoring.write(path, self.report())

    @property
    def classes(self) -> list[str]:
        """Names of the labels 0, 1, ...; empty when they have none."""
        return self._source.classes

    @functools.cached_property
    def dataset(self) -> Dataset:
        """The same data as a Dataset: `loader.dataset[i]` is sample i."""
        return Dataset(self.path, exif_orientation=bool(self._options.exif_orientation))

    @property
    def batch_sampler(self) -> Loader:
        """For frameworks that call `batch_sampler.set_epoch` or ask for its length."""
        return self

    def __repr__(self) -> str:
        return (
            f"tundish.Loader({self.path!r}): {self._source.count:,} samples, batches of {self.batch_size}, "
            f"rank {self.rank} of {self.world_size}, {self.threads} threads, epoch {self.epoch}"
        )

    # --- ending -----------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the threads. Tensors that were handed out stay valid. Any thread may call it, at any time."""
        try:
            self._end()  # may raise: a warning that was made an error, Ctrl-C
        finally:
            self._handle = None  # freed when no other thread is in a call with it
            self._arriving = Arriving(None, self.decoding)  # likewise, with its memory on a GPU

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> LoaderHandle:
        if os.getpid() != self._process:  # its locks may be held by threads that are not here
            raise new_error(
                604,
                f"TND-604 the loader of {self.path} was made before a fork\n"
                "  fix: make the loader in the child process",
            )
        handle = self._handle
        if handle is None or not self._end.alive:
            raise new_error(
                606, f"TND-606 the loader of {self.path} is closed\n  fix: make a new one"
            )
        return handle

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy with the same trace would overwrite it.
        return _rebuild, (self.path, {**_given(self._options), "trace": None}, self.state_dict())


def _given(options: LoaderOptions) -> dict[str, Any]:
    return {one.name: getattr(options, one.name) for one in fields(options)}


def _rebuild(path: Any, options: dict[str, Any], state: dict[str, Any]) -> Loader:
    loader = Loader(path, **options)
    loader.load_state_dict(state)
    return loader


def _end_all(handle: LoaderHandle, pieces: pinned.PinnedBatches | None) -> None:
    """Ends the threads, whatever is raised. The memory goes with the last reference to the handle."""
    try:
        if lib.tundish_loader_write_trace(handle) != OK:
            warnings.warn(str(last_error()), RuntimeWarning, stacklevel=3)
    finally:
        if pieces is not None:  # first: Ctrl-C may come after the call
            pinned.keep_for_ever(pieces)
        if lib.tundish_loader_end(handle):
            warnings.warn(str(last_error()), RuntimeWarning, stacklevel=3)
        elif pieces is not None:
            pinned.let_go(pieces)


# help() and editors see the arguments, which are written once, in options.py.
Loader.__doc__ = f"{(Loader.__doc__ or '').rstrip()}\n{arguments_text()}\n    "
_PATH = inspect.Parameter("path", inspect.Parameter.POSITIONAL_OR_KEYWORD)
Loader.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        _PATH,
        *(
            inspect.Parameter(
                one.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if one.name == "batch_size"
                else inspect.Parameter.KEYWORD_ONLY,
                default=one.default,
            )
            for one in fields(LoaderOptions)
        ),
    ]
)
