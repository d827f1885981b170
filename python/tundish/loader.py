"""The loader: `for images, labels in tundish.Loader("train.tnd", batch_size=256): ...`"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import checks, memory_budget, pinned, seeing, state_of_run
from ._library import (
    AGAIN,
    DTYPES,
    END,
    ERROR,
    OK,
    TO_DTYPE,
    BatchHandle,
    BatchInfo,
    LoaderHandle,
    LoaderOptions,
    LoaderStats,
    last_error,
    lib,
    new_error,
)
from .arriving import Arriving
from .assemble import Assembler
from .dataset import Dataset
from .device import AHEAD, ArrivingOnGpu, can_pin, device_of, on_gpu
from .iterating import LoaderIterator, Sampler, Turn
from .order import Order, pack_order
from .replay import Replayed, replay
from .source import Paths, Source, plain_paths
from .transforms import Transform, pack_transforms
from .world import local_world_size, rank_and_world_size

_UNEVEN = {"pad": 0, "drop": 1, "exact": 2}
_ON_ERROR = {"substitute": 0, "skip": 1, "fail": 2}
_LAYOUTS = {"channels_last": 0, "contiguous": 1}
_CACHES = {"encoded": 1, "decoded": 2, "auto": 3}
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
    batch_size       images per batch and rank
    transforms       in order: RandomResizedCrop, Resize, CenterCrop, RandomCrop, flips, Normalize, ToDtype
    shuffle, seed    the order and every random choice are functions of seed, epoch and position
    order            Subset, Weighted, Balanced, Repeated, Mixture; default: every sample once
    drop_last        leave out a last batch that is not full; the same as uneven="drop"
    threads          default: the CPUs this process may use, shared with the other local ranks
    rank, world_size default: from torch.distributed, torchrun or Slurm
    on_error         a bad sample: "substitute" (default with several ranks), "skip" (default with one), "fail"
    uneven           the last global batch: "pad" (default when shuffling), "drop", "exact" (default otherwise)
    return_index     also yield the numbers of the samples
    labels           integers to use instead of the stored labels, one per sample
    as_dict          yield a dict of all fields instead of a tuple
    memory_format    "channels_last" or "contiguous": memory order of the images
    exif_orientation turn images as their EXIF says (torchvision does not)
    prefetch         batches kept ready ahead of the trainer
    max_bad          most bad samples of an epoch as a share (0.01), more are an error; None: any number
    hang_warning     seconds after which a read or decode that does not end is named; None: never
    trace            file for a trace of every thread (docs/seeing.md), written by close() and at exit
    pin_memory       page-locked batches, for copies to a GPU with non_blocking=True (with the backend
                     "numpy" keep a batch until its copy has ended; torch sees to that by itself)
    memory           what the loader may use, "8GiB" or bytes: a promise (docs/memory.md); "auto": half of what
                     this process may take, shared with the other local ranks; None: not counted
    cache            samples kept in what is left of memory: "encoded" (as stored), "decoded" (as pixels), "auto"
                     (decoded if all fit so); without memory= that is "auto"
    stage            a folder, such as "/dev/shm": the pack is copied there first, and the copy is gone with the loader
    device           "cuda": batches come as tensors on that GPU, made there ahead of the loop (docs/gpu.md)
    decode           with device, who decodes: "cpu", "gpu" or "auto" (both are measured in the first seconds)
    resident         with device: the lanes records of the data are kept in the GPU's memory
    backend          "auto", "torch" or "numpy"
    """

    _replays = False  # replay.py's does: a batch is made again

    def __init__(
        self,
        path: Paths,
        batch_size: int = 1,
        *,
        transforms: Sequence[Transform] = (),
        shuffle: bool = False,
        seed: int = 0,
        order: Order | None = None,
        drop_last: bool = False,
        threads: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        on_error: str | None = None,
        uneven: str | None = None,
        return_index: bool = False,
        labels: Any = None,
        as_dict: bool = False,
        memory_format: str = "channels_last",
        exif_orientation: bool = False,
        prefetch: int = 4,
        max_bad: float | None = None,
        hang_warning: float | None = 30.0,
        trace: str | os.PathLike[str] | None = None,
        pin_memory: bool = False,
        memory: str | int | None = None,
        cache: str | None = None,
        stage: str | os.PathLike[str] | None = None,
        device: Any = None,
        decode: str = "auto",
        resident: bool = False,
        backend: str = "auto",
        **unknown: Any,
    ) -> None:
        checks.refuse_unknown(unknown)
        self._config = {k: v for k, v in locals().items() if k not in ("self", "unknown")}
        self.path = plain_paths(path)
        self.batch_size = checks.positive(batch_size, "batch_size")
        self.shuffle = bool(shuffle)
        self.rank, self.world_size = rank_and_world_size(rank, world_size)
        self.drop_last = bool(drop_last) or uneven == "drop"
        self._exif_orientation = bool(exif_orientation)
        self._seed = checks.seed(seed)
        self._hang_ms = checks.milliseconds(hang_warning, "hang_warning")
        self._backend, from_tensor, from_numpy = checks.backend(backend)

        if drop_last and uneven not in (None, "drop"):
            raise ValueError(f"drop_last=True contradicts uneven={uneven!r}: give one of them")
        random_order = shuffle or getattr(order, "shuffles", False)
        uneven = "drop" if drop_last else uneven or ("pad" if random_order else "exact")
        on_error = on_error or ("substitute" if self.world_size > 1 else "skip")
        if on_error == "fail" and max_bad is not None:
            raise ValueError(
                'max_bad has no meaning with on_error="fail": the first bad one raises'
            )
        if threads is None:
            threads = max(1, lib.tundish_usable_cpus() // local_world_size())
        self.threads = checks.positive(threads, "threads")
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"rank {self.rank} does not exist in a world of {self.world_size}")

        self.device = device_of(device, self._backend, decode, resident)  # None: host memory
        prefetch = checks.positive(prefetch, "prefetch")
        if memory is None and cache is not None:
            memory = "auto"
        self.memory = memory_budget.budget(memory)  # bytes; 0: not counted
        if self.device is not None and cache == "auto" and decode == "gpu":
            cache = "encoded"
        pin_memory = pin_memory and self.device is None and self._can_pin()
        # With torch the batches are made in torch's own memory; otherwise the engine locks its own.
        self._pinned: pinned.PinnedBatches | None = None
        if pin_memory and self._backend == "torch":
            self._pinned = pinned.PinnedBatches(self.batch_size, prefetch)

        self._source = Source(self.path, stage)
        for text in self._source.warnings:
            warnings.warn(text, stacklevel=2)
        structs = self._structs(transforms)
        options = LoaderOptions(
            struct_bytes=ctypes.sizeof(LoaderOptions),
            batch_size=self.batch_size,
            seed=self._seed % 2**64,
            rank=self.rank,
            world_size=self.world_size,
            shuffle=self.shuffle,
            uneven=checks.choice(_UNEVEN, uneven, "uneven"),
            on_error=checks.choice(_ON_ERROR, on_error, "on_error"),
            channels_first=checks.choice(_LAYOUTS, checks.plain(memory_format), "memory_format"),
            exif_orientation=self._exif_orientation,
            all_fields=as_dict,
            threads=self.threads,
            prefetch=prefetch,
            pinned=pin_memory and self._pinned is None
            if self.device is None
            else can_pin(self.device),
            replay=self._replays,
            transforms=structs,
            transform_count=len(structs),
            max_bad=checks.share(max_bad, "max_bad"),
            trace=seeing.trace_path(trace, self.rank),
            memory=self.memory,
            lent_batches=AHEAD + 2 if self.device else prefetch + 2 if self._pinned else 0,
            for_gpu=0 if self.device is None else 1 if decode == "cpu" else 3 if resident else 2,
            cache=0 if cache is None else checks.choice(_CACHES, cache, "cache"),
        )
        if order is not None:
            struct = pack_order(order, self._source.sizes)  # kept until the engine is made
            options.order = ctypes.pointer(struct)
        self._assembler = Assembler(
            fields=self._source.fields,
            from_tensor=from_tensor,
            from_numpy=from_numpy,
            pinned=self._pinned,
            as_dict=bool(as_dict),
            return_index=bool(return_index),
            new_labels=labels is not None,
        )
        if labels is not None:
            labels = checks.int64_array(labels, self._source.count)
            options.labels = labels.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
            options.label_count = len(labels)
        self._make_engine(options)

        # Changed by the thread that has the turn, and where a batch is handed out.
        self._turn = Turn()
        self._place = (0, 0)  # epoch, position: what was handed out so far
        self._arriving: Arriving | ArrivingOnGpu = Arriving(self._pinned)
        if self.device is not None:
            layout = bool(options.channels_first)
            self._arriving = on_gpu(
                self._open(), self._source, self.device, layout, decode, resident, prefetch
            )
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

    def _can_pin(self) -> bool:
        reason = pinned.why_not(self._backend)
        if reason:
            warnings.warn(f"pin_memory is left out: {reason}", stacklevel=3)
        return not reason

    def _structs(self, transforms: Sequence[Transform]) -> Any:
        structs = pack_transforms(transforms)
        half = DTYPES["bfloat16"]
        if self._backend == "numpy" and any(
            s.kind == TO_DTYPE and s.dtype == half for s in structs
        ):
            raise ValueError("bfloat16 needs torch: NumPy has no such type")
        return structs

    def _make_engine(self, options: LoaderOptions) -> None:
        handle = lib.tundish_loader_new(self._source.handle, ctypes.byref(options))
        if not handle:
            raise last_error()
        self._handle: LoaderHandle | None = handle  # none once closed
        self._end = weakref.finalize(self, _end_all, handle, self._pinned)
        self._process = os.getpid()
        self._fingerprint = lib.tundish_loader_fingerprint(handle).decode()
        self._order = lib.tundish_loader_order(handle).decode()
        self._recipe = json.loads(lib.tundish_loader_recipe(handle))
        if isinstance(self.path, list):
            self._recipe["given"] = True  # the program replays from one path
        self._positions = lib.tundish_loader_positions(handle)  # of an epoch
        memory_budget.warn_about_cache(self._stats())

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
        stats = self._stats()
        if stats.replaced + stats.skipped + stats.zeros == 0:
            return
        self._warned = True
        warnings.warn(seeing.about_bad(self.bad_samples()[0]), stacklevel=4)

    def _warn_about_hanging(self) -> None:
        text = lib.tundish_loader_hanging(self._open(), self._hang_ms)
        if text:
            warnings.warn(seeing.about_hanging(text), RuntimeWarning, stacklevel=4)

    # --- place in the run -------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Of the iteration in progress; otherwise of the next one."""
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
        return {
            "format": state_of_run.FORMAT,
            "fingerprint": self._fingerprint,
            "seed": self._seed,
            "epoch": epoch,
            "position": position,
            "order": self._order,
            "recipe": self._recipe,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where the state was saved, with any threads, rank, world size and batch size."""
        place = state_of_run.place(state, self.state_dict(), self.path, self._positions)
        self._turn.begin()
        try:
            self._iteration += 1  # the one in progress is over
            self._arriving.drop()
            self._in_progress = self._taken = False
            self._place, self._wanted_epoch = place, None
        finally:
            self._turn.end()

    def replay(self, state: dict[str, Any], rank: int | None = None) -> Replayed:
        """The batch that followed this state, made again, with what was done to each image.

        Batch size, world size, uneven and on_error are those of the run that saved it; `rank` is by default
        this loader's. `images, labels = loader.replay(state).batch`; `.plans` has a dict per image:
        position, sample, repeat, crop, flips. The loader itself stays where it is.
        """
        config = {**self._config, "rank": self.rank, "world_size": self.world_size}
        return replay(config, state, rank)

    # --- seeing -----------------------------------------------------------------------------

    def _stats(self) -> LoaderStats:
        stats = LoaderStats()
        lib.tundish_loader_get_stats(self._open(), ctypes.byref(stats))
        return stats

    def unused_memory(self) -> int:
        """Bytes of its budget that it has not used so far."""
        handle = self._handle  # another thread may close the loader meanwhile
        if handle is None or not self._end.alive or os.getpid() != self._process:
            return 0
        stats = LoaderStats()
        lib.tundish_loader_get_stats(handle, ctypes.byref(stats))
        return int(stats.memory - stats.memory_used)

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Flat, ready for a logger: what was delivered, what it cost, what the trainer waited.

        Sums are since the loader was made; shares and quantiles since the last stats(reset=True).
        """
        stats = seeing.stats_dict(self._stats()) | self._arriving.stats(reset)
        if reset:
            lib.tundish_loader_new_window(self._open())
        return stats

    def bad_samples(self) -> list[dict[str, Any]]:
        """The first 10,000 samples that could not be loaded: file, record, byte, why, what came instead."""
        return list(json.loads(lib.tundish_loader_bad_samples(self._open())))

    def report(self) -> dict[str, Any]:
        """Exact counts and bad_samples(), ready for JSON."""
        return seeing.report(self.path, self._stats(), self.bad_samples())

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """JSON when the name ends in .json, otherwise a table."""
        seeing.write(path, self.report())

    @property
    def classes(self) -> list[str]:
        return self._source.classes

    @functools.cached_property
    def dataset(self) -> Dataset:
        """The same data by number."""
        return Dataset(self.path, exif_orientation=self._exif_orientation)

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
                "  what now: make the loader in the child process",
            )
        handle = self._handle
        if handle is None or not self._end.alive:
            raise new_error(
                606, f"TND-606 the loader of {self.path} is closed\n  what now: make a new one"
            )
        return handle

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy with the same trace would overwrite it.
        return _rebuild, ({**self._config, "trace": None}, self.state_dict())


def _rebuild(config: dict[str, Any], state: dict[str, Any]) -> Loader:
    loader = Loader(**config)
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
