"""The loader: `for images, labels in tundish.Loader("train.tnd", batch_size=256): ...`"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator
from typing import Any

from .._c.library import lib
from . import monitoring
from .batch.batch_form import BatchForm
from .batch.batch_transform import BatchTransform
from .batch.pending_batch import PendingBatch
from .batch.pending_gpu_batches import PendingGpuBatches
from .batch.untransformed_fields import check_fields
from .dataset import Dataset
from .engine import LoaderEngine
from .gpu.resident import make_resident
from .loader_run import LoaderIterator, Run
from .open_source import Paths, as_source, plain_paths
from .rank_orders import orders_of_loader, warn_about_late_group, warn_about_ranks
from .replay import Replayed, replay
from .sampler import Sampler
from .settings import argument_checks as checks
from .settings import memory_budget
from .settings.disk_cache import cached_on_disk, disk_stats
from .settings.loader_options import arguments_text, given_options, make_options, signature
from .setup import resolve_setup
from .tuning import TuningLog

_WITHOUT_LABELS = "have no labels"  # part of every such warning in src/data/source


class Loader:
    """Yields training batches from a pack (a .tnd file), an image folder or another dataset.

    A batch is (images, labels). With return_index, the sample numbers follow; with return_sizes, the
    image sizes come last. Batches are torch tensors if torch can be imported, otherwise NumPy arrays.
    Images have shape (N, 3, H, W) in channels_last memory. They are uint8 unless the transforms
    include Normalize or ToDtype.

    The batches are bit-identical for any number of threads, and for any split of a global batch over
    ranks. Several threads may share a loader and its iterator; each batch goes to one thread.

    For samples without an image, a batch is (arrays, labels), or a dict if there are several arrays.

    path             a .tnd file, an image folder, or any other dataset in docs/sources.md; a
                     tundish.DataSource; or a list of datasets with the same classes, to concatenate
    """

    _replays = False  # True in replay.py, which recreates a single batch

    def __init__(self, path: Paths, batch_size: int = 1, **options: Any) -> None:
        added = set(vars(self))
        options_ = make_options({"batch_size": batch_size, **options})
        self.path = plain_paths(path)
        batch_transform = BatchTransform(options_.batch_transform, self.path)
        self._setup = setup = resolve_setup(options_)
        self.rank, self.world_size = setup.rank, setup.world_size
        self.device = setup.device  # None: host memory
        self.batch_size = batch_size
        self.shuffle = bool(options_.shuffle)
        self.drop_last = bool(options_.drop_last) or options_.uneven == "drop"
        self.threads = setup.threads
        self.memory = setup.memory  # bytes; 0: no limit

        self._source = source = as_source(path, options_.copy_to)
        if options_.cache_dir is not None:
            self._source = source = cached_on_disk(
                source, options_.cache_dir, options_.cache_dir_limit
            )
        check_fields(source, options_)
        for text in source.warnings:
            if options_.labels is None or _WITHOUT_LABELS not in text:
                warnings.warn(text, stacklevel=2)
        form = BatchForm(
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
        self._engine = engine = LoaderEngine(setup, source, self._replays)
        pending = PendingBatch(form)
        if self.device is not None:
            resident = None
            if options_.resident:
                resident = make_resident(source.handle, self.path, self.device)
            pending = PendingGpuBatches(form, engine.open(), self.device, resident)
        tuning = TuningLog(engine, setup.tunes_threads)
        self._run = Run(engine, pending, setup.hang_ms, batch_transform, tuning)
        self.sampler = Sampler(self)
        self._rank_orders = orders_of_loader(path, setup)
        self._own = {"_own", "classes", "dataset", *vars(self)} - added
        memory_budget.reserve(
            self
        )  # last, so that a loader whose construction failed reserves nothing

    # --- iterating --------------------------------------------------------------------------

    def __len__(self) -> int:
        """Returns the number of batches per epoch, which is the same on every rank."""
        return int(lib.tundish_loader_steps(self._engine.open(), 0))

    def __iter__(self) -> Iterator[Any]:
        iteration, source = self._run.begin(), self._source
        warn_about_late_group(self._setup.options, self.rank, self.world_size)
        if self._rank_orders is not None:
            state = self._engine.state(0, 0)
            warn_about_ranks(self._rank_orders, source.count, source.fingerprint, state)
        return LoaderIterator(self, iteration)

    # --- position in the run ----------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The number of the epoch in progress, or of the next one if none is in progress."""
        return self._run.place[0]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration, or of an iteration that has not returned a batch yet.

        If load_state_dict() has loaded a state of the same epoch, the loader still starts at the saved position.
        """
        self._run.set_epoch(checks.whole(epoch, "epoch", least=0, most=2**63 - 1))

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the batches received so far.

        The state is a small dict that JSON can store. It is the same on every rank.
        """
        epoch, position = self._run.place  # read once: another thread may take the next batch
        return self._engine.state(epoch, position)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a saved state. Threads, rank, world size and batch size may differ from the saved run."""
        self._run.seek(self._engine.position_of(state))

    def replay(self, state: dict[str, Any], rank: int | None = None) -> Replayed:
        """Recreates the batch that followed a saved state, and lists what was done to each image.

            images, labels = loader.replay(state).batch

        `.plans` of the result has one dict per image, with its sample number, crop, flips and more.
        Batch size, world size, uneven and on_error come from the run that saved the state. `rank`
        defaults to the rank of this loader. The loader keeps its position.
        """
        self._engine.position_of(state)  # checks the state, which may come from anywhere
        options = {
            **given_options(self._setup.options),
            "rank": self.rank,
            "world_size": self.world_size,
        }
        return replay(self.path, options, state, rank)

    # --- monitoring ---------------------------------------------------------------------------

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Returns statistics for a logger, such as delivered samples and the time spent waiting for batches.

        Sums start when the loader is created. Shares and quantiles start at the last stats(reset=True).
        """
        stats = self._engine.stats() | self._run.pending.stats(reset)
        stats |= self._run.batch_transform.stats()
        stats |= disk_stats(self._source)
        if reset:
            self._engine.new_window()
        return stats

    def thread_changes(self) -> list[dict[str, Any]]:
        """Returns the newest 100 changes made by threads="auto", oldest first.

        The keys `from` and `threads` are the numbers of threads before and after the change;
        `prefetch_from` and `prefetch` are the numbers of prefetched batches. `at_s` is the time, in
        seconds since the threads started. `samples_per_s` was measured before the change, and
        `predicted_samples_per_s` is expected after it. `reason` is a string.
        """
        return self._engine.tuning()[1]

    def bad_samples(self) -> list[dict[str, Any]]:
        """Returns the first 10,000 samples that could not be loaded, each as a dict.

        The keys include file, record, key, code and reason (docs/bad-data.md lists all). A sample that
        fails in three epochs is listed three times. The list is not part of state_dict().
        """
        return self._engine.bad_samples()

    def report(self) -> dict[str, Any]:
        """Returns exact counts and the list of bad_samples(), as a dict for JSON."""
        return monitoring.report(self.path, self._engine.stats(), self.bad_samples())

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Writes report() to a file: as JSON if the name ends in .json, otherwise as a table."""
        monitoring.write_report(path, self.report())

    def unused_memory(self) -> int:
        """Returns the unused bytes of the loader's memory budget."""
        return self._engine.unused_memory()

    @property
    def decoding(self) -> str | None:
        """Where images are decoded: "cpu" or "gpu"; None until decode="auto" has decided."""
        return self._run.pending.decoding

    @functools.cached_property
    def classes(self) -> list[str]:
        """Names of the labels 0, 1, ...; empty if the labels have no names.

        For label vectors, these are the names of the columns. With labels=, these are the stored names if
        their number fits the given labels; otherwise the list is empty.
        """
        return checks.fitting_classes(self._source.classes, self._setup.options.labels)

    @functools.cached_property
    def dataset(self) -> Dataset:
        """The same data as a Dataset, which returns single samples by number.

        Raises Error if there is other data at the path by now.
        """
        options = self._setup.options
        upright = bool(options.exif_orientation)
        opened = Dataset(self.path, exif_orientation=upright, mode=options.mode)
        opened._check_unchanged(
            self._source.fingerprint, "the loader reads", "make the loader again"
        )
        return opened

    @property
    def batch_sampler(self) -> Loader:
        """The loader itself, for frameworks that use `batch_sampler.set_epoch` or its length."""
        return self

    def __repr__(self) -> str:
        return (
            f"tundish.Loader({self.path!r}): {self._source.count:,} samples, batches of {self.batch_size}, "
            f"rank {self.rank} of {self.world_size}, {self.threads} threads, epoch {self.epoch}"
        )

    # --- ending -----------------------------------------------------------------------------

    def close(self) -> None:
        """Stops the threads. Tensors that you have received stay valid. Any thread may call close() at any time."""
        try:
            self._engine.end()
        finally:
            # The old object is freed, with its GPU memory, once no other thread is in a call with it.
            self._run.pending = PendingBatch(self._run.pending.form, self.decoding)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy that writes the same trace file would overwrite it.
        options = {**given_options(self._setup.options), "trace": None}
        added = {name: value for name, value in vars(self).items() if name not in self._own}
        return _rebuild, (type(self), self.path, options, Loader.state_dict(self), added)


def _rebuild(
    kind: type[Loader],
    path: Any,
    options: dict[str, Any],
    state: dict[str, Any],
    added: dict[str, Any],
) -> Loader:
    """Makes a loader of the same class. `added`: attributes that a subclass or a script has set."""
    loader = kind.__new__(kind)
    Loader.__init__(loader, path, **options)
    Loader.load_state_dict(loader, state)
    vars(loader).update(added)
    return loader


# help() and editors show the arguments, which are defined once, in loader_options.py.
Loader.__doc__ = f"{(Loader.__doc__ or '').rstrip()}\n{arguments_text()}\n    "
Loader.__signature__ = signature()  # type: ignore[attr-defined]
