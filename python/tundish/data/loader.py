"""The loader: `for images, labels in tundish.Loader("train.tnd", batch_size=256): ...`"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator
from typing import Any

from .._c.library import lib
from . import monitoring
from .batch.assemble import Assembler
from .batch.batch_transform import BatchTransform
from .batch.pending_batch import PendingBatch
from .batch.untransformed_fields import check_fields
from .dataset import Dataset
from .engine import Engine
from .gpu.device import pending_on_gpu
from .iterator import LoaderIterator, Sampler
from .loader_run import Run
from .open_source import Paths, opened, plain_paths
from .replay import Replayed, replay
from .settings import argument_checks as checks
from .settings import memory_budget
from .settings.disk_cache import cached_on_disk, disk_stats
from .settings.loader_options import arguments_text, as_given, make_options, signature
from .setup import settle
from .tuning import TuningLog

_WITHOUT_LABELS = "have no labels"  # in every warning of src/source about it


class Loader:
    """Batches of a pack (or of a folder, list or tar) for training.

    Yields (images, labels), with return_index also the sample numbers, with return_sizes then the sizes of
    the images: torch tensors when torch
    can be imported, otherwise NumPy arrays. Images are uint8 until Normalize or ToDtype; their
    shape is (N, 3, H, W) in channels_last memory. The batches are bit-identical for any number of
    threads, and for any split of a global batch over ranks. Threads of the program may share a loader, and
    its iterator: each batch goes to one of them.

    Of samples without an image a batch is (arrays, labels), or a dict where there are several arrays.

    path             a .tnd file, an image folder, or any other data set of docs/sources.md; a
                     tundish.DataSource; or a list of several that have the same classes, as one
    """

    _replays = False  # replay.py's does: a batch is made again

    def __init__(self, path: Paths, batch_size: int = 1, **options: Any) -> None:
        options_ = make_options({"batch_size": batch_size, **options})
        self.path = plain_paths(path)
        batch_transform = BatchTransform(options_.batch_transform, self.path)
        self._setup = setup = settle(options_)
        self.rank, self.world_size = setup.rank, setup.world_size
        self.device = setup.device  # None: host memory
        self.batch_size = batch_size
        self.shuffle = bool(options_.shuffle)
        self.drop_last = bool(options_.drop_last) or options_.uneven == "drop"
        self.threads = setup.threads
        self.memory = setup.memory  # bytes; 0: not counted

        self._source = source = opened(path, options_.copy_to)
        if options_.cache_dir is not None:
            self._source = source = cached_on_disk(
                source, options_.cache_dir, options_.cache_dir_limit
            )
        check_fields(source, options_)
        for text in source.warnings:
            if options_.labels is None or _WITHOUT_LABELS not in text:
                warnings.warn(text, stacklevel=2)
        assembler = Assembler(
            fields=source.fields,
            arrays=source.arrays,
            from_tensor=setup.from_tensor,
            from_numpy=setup.from_numpy,
            pinned=setup.pinned,
            as_dict=bool(options_.as_dict),
            return_index=bool(options_.return_index),
            return_sizes=bool(options_.return_sizes),
            as_list=options_.images_as == "list",
            new_labels=options_.labels is not None,
            label_vectors=source.label_vectors,
        )
        self._engine = engine = Engine(setup, source, self._replays)
        pending: Any = PendingBatch(setup.pinned)
        if self.device is not None:
            pending = pending_on_gpu(engine.open(), source.handle, self.path, self.device, options_)
        tuning = TuningLog(engine, setup.tunes_threads)
        self._run = Run(
            engine, assembler, pending, setup.pinned, setup.hang_ms, batch_transform, tuning
        )
        self.sampler = Sampler(self)
        memory_budget.promise(self)  # last: a loader that could not be made promises nothing

    # --- iterating --------------------------------------------------------------------------

    def __len__(self) -> int:
        """Batches per epoch; the same on every rank."""
        return int(lib.tundish_loader_steps(self._engine.open(), 0))

    def __iter__(self) -> Iterator[Any]:
        return LoaderIterator(self, self._run.begin())

    # --- place in the run -------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The number of the epoch in progress, or of the next one when none is."""
        return self._run.place[0]

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, or the one in progress that has given no batch yet.

        After load_state_dict() with a state of that epoch, the loader still starts at the state's place.
        """
        self._run.set_epoch(checks.whole(epoch, "epoch", least=0, most=2**63 - 1))

    def state_dict(self) -> dict[str, Any]:
        """A small dict of numbers and strings (JSON); the same on every rank: what was handed out so far."""
        epoch, position = self._run.place  # at once: another thread may take the next batch
        return self._engine.state(epoch, position)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where the state was saved, with any threads, rank, world size and batch size."""
        self._run.go_to(self._engine.place_of(state))

    def replay(self, state: dict[str, Any], rank: int | None = None) -> Replayed:
        """The batch that followed this state, made again, with what was done to each image.

        Batch size, world size, uneven and on_error are those of the run that saved it; `rank` is by default
        this loader's. `images, labels = loader.replay(state).batch`; `.plans` has a dict per image:
        position, sample, repeat, crop, flips. The loader itself stays where it is.
        """
        self._engine.place_of(state)  # a state may come from anywhere
        options = {
            **as_given(self._setup.options),
            "rank": self.rank,
            "world_size": self.world_size,
        }
        return replay(self.path, options, state, rank)

    # --- monitoring ---------------------------------------------------------------------------

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Flat, ready for a logger: what was delivered, what it cost, what the trainer waited.

        Sums are since the loader was made; shares and quantiles since the last stats(reset=True).
        """
        stats = self._engine.stats() | self._run.pending.stats(reset)
        stats |= self._run.batch_transform.stats()
        stats |= disk_stats(self._source)
        if reset:
            self._engine.new_window()
        return stats

    def tuning(self) -> list[dict[str, Any]]:
        """What threads="auto" changed, oldest first (the newest 100): at_s, threads (from), prefetch (prefetch_from), reason,
        and the rates samples_per_s (before, measured) and predicted_samples_per_s (after)."""
        return self._engine.tuning()[1]

    def bad_samples(self) -> list[dict[str, Any]]:
        """The first 10,000 draws of samples that could not be loaded: file, record, byte, why, what came instead.

        A sample that is bad in three epochs is listed three times. Not part of a state.
        """
        return self._engine.bad_samples()

    def report(self) -> dict[str, Any]:
        """Exact counts and bad_samples(), ready for JSON."""
        return monitoring.report(self.path, self._engine.stats(), self.bad_samples())

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """JSON when the name ends in .json, otherwise a table."""
        monitoring.write(path, self.report())

    def unused_memory(self) -> int:
        """Bytes of its budget that it has not used so far."""
        return self._engine.unused_memory()

    @property
    def decoding(self) -> str | None:
        """Who decodes: "cpu" or "gpu"; None while decode="auto" has not chosen yet."""
        return self._run.pending.decoding

    @functools.cached_property
    def classes(self) -> list[str]:
        """Names of the labels 0, 1, ...; empty when they have none.

        Of labels that are vectors, the names of their columns. With labels=: the names that the data have,
        if they are as many as the columns, or as the integers need; otherwise empty.
        """
        return checks.fitting_classes(self._source.classes, self._setup.options.labels)

    @functools.cached_property
    def dataset(self) -> Dataset:
        """The same data by number."""
        options = self._setup.options
        upright = bool(options.exif_orientation)
        return Dataset(self.path, exif_orientation=upright, mode=options.mode)

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
            self._engine.end()
        finally:
            # Freed when no other thread is in a call with it, with its memory on a GPU.
            self._run.pending = PendingBatch(None, self.decoding)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy with the same trace would overwrite it.
        return _rebuild, (
            self.path,
            {**as_given(self._setup.options), "trace": None},
            self.state_dict(),
        )


def _rebuild(path: Any, options: dict[str, Any], state: dict[str, Any]) -> Loader:
    loader = Loader(path, **options)
    loader.load_state_dict(state)
    return loader


# help() and editors see the arguments, which are written once, in options.py.
Loader.__doc__ = f"{(Loader.__doc__ or '').rstrip()}\n{arguments_text()}\n    "
Loader.__signature__ = signature()  # type: ignore[attr-defined]
