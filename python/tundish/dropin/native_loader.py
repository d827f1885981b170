"""Replacements for a DataLoader whose batches the engine can make."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from .._c.errors import Error
from ..data.loader import Loader
from ..data.open_source import Source
from .accelerate_report import AccelerateReport
from .change_detection import Snapshot
from .datasets.known_datasets import KnownDataset
from .datasets.part_sources import labels_of
from .datasets.parts import Names, Pixels
from .forwarded_attributes import is_forwarded
from .loader_seeds import LoaderSeed
from .packs.packs import PackBeside
from .rank_orders import TORCHS, SamplerOrders
from .samplers import Epochs, SamplerGenerator, draw_worker_seed, order_of


def as_list(batch: Any) -> Any:
    """Converts a batch to a list, because default_collate returns lists."""
    return list(batch) if isinstance(batch, tuple) else batch


def as_tuple(batch: Any) -> Any:
    """Returns a batch as a tuple, as timm's fast_collate and PrefetchLoader do."""
    return tuple(batch)


class AsDict:
    """Converts batches to dicts, because default_collate returns dicts if samples are dicts."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def __call__(self, batch: Any) -> Any:
        images, labels = batch
        return {name: images if is_image else labels for name, is_image in self._names}


class LoaderSpec:
    """Everything that is needed to create loaders over the samples of a dataset."""

    def __init__(self, known: KnownDataset, epochs: Epochs, options: dict[str, Any]) -> None:
        self.known, self.epochs, self._options = known, epochs, options

    @property
    def seed(self) -> int:
        return int(self.epochs.options.get("seed", self._options["seed"]))

    @property
    def fails_on_error(self) -> bool:
        return bool(self._options["on_error"] == "fail")

    def with_seed(self, seed: int) -> LoaderSpec:
        epochs = replace(self.epochs, options={**self.epochs.options, "seed": seed})
        return LoaderSpec(self.known, epochs, {**self._options, "seed": seed})

    def loader(self, source: Source, numbers: Any = None, **others: Any) -> Loader:
        """Returns a loader over `numbers` in this order, or by default over the samples of an epoch."""
        if numbers is None:
            order = self.epochs.order
            options = {**self._options, **self.epochs.options}
        else:
            order, options = order_of(numbers), self._options
        if isinstance(self.known.parts[0], Pixels):
            options = {**options, "labels": labels_of(self.known.parts)}
        whole: dict[str, Any] = {"rank": 0, "world_size": 1}
        names = self.known.parts[0].names
        whole["batch_transform"] = AsDict(names) if names else as_list
        whole |= {"batch_size": self.epochs.batch_size, "drop_last": self.epochs.drop_last}
        whole |= options
        if "uneven" in whole:
            del whole["drop_last"]
        return Loader(source, order=order, **{**whole, **others})  # type: ignore[arg-type]


class NativeLoader:
    """Replaces a DataLoader. Has the DataLoader's attributes, plus stats(), report and others."""

    def __init__(
        self,
        dataloader: Any,
        spec: LoaderSpec,
        files: Source,
        packed: Source | None,
        report: AccelerateReport,
        arguments: dict[str, Any],
        pack: PackBeside | None,
        seed: LoaderSeed | None,
    ) -> None:
        self._dataloader = dataloader
        self._spec = spec
        self._files = files
        self._source = packed or files  # the source in use
        self._arguments = arguments  # arguments of accelerate(), for pickling
        self._pack = pack  # a pack that is not ready yet, or None
        self._seed = seed  # None: the seed does not come from a torch generator
        self._snapshot = Snapshot(dataloader, spec.known, spec.epochs.listed)
        self._seen_epoch = 0  # last epoch seen on the sampler
        self.report = report

    # --- interface of torch's DataLoader -----------------------------------------------------

    def __len__(self) -> int:
        return len(self._dataloader)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_dataloader" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._dataloader, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if is_forwarded(self, name):
            setattr(self._dataloader, name, value)
        else:
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._dataloader, self._arguments, None)

    def __repr__(self) -> str:
        return f"tundish.accelerate({self._dataloader!r}): the engine makes the batches"

    # --- the engine --------------------------------------------------------------------------

    _loader: Loader | None = None
    _rank_orders: SamplerOrders | None = None

    def _check_before_epoch(self, order: str) -> None:
        """Raises RuntimeError if the DataLoader has changed, or if the ranks do not divide the samples."""
        self._snapshot.check()
        if self._rank_orders is not None:
            self._rank_orders.check(order)

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Returns statistics for a logger (docs/loader-performance.md). Sums start with the newest engine."""
        return {} if self._loader is None else self._loader.stats(reset)

    def bad_samples(self) -> list[dict[str, Any]]:
        """Returns the samples that could not be loaded with on_error="skip" or "substitute"."""
        return [] if self._loader is None else self._loader.bad_samples()

    def close(self) -> None:
        """Stops the threads. Tensors that you have received stay valid."""
        if self._loader is not None:
            self._loader.close()

    def __enter__(self) -> NativeLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def dataloader(self) -> Any:
        """torch's DataLoader, which this loader replaces."""
        return self._dataloader

    def has_changed(self) -> bool:
        """Returns whether the DataLoader has changed, so that the next epoch raises an error."""
        try:
            self._snapshot.check()
        except RuntimeError:
            return True
        return False

    def _use_seed(self, draws: bool) -> None:
        if self._seed is not None:
            self._seed.use(draws)

    def _switch_to_pack(self) -> bool:
        """Switches to the pack if it has become ready. Returns whether it switched."""
        source = None if self._pack is None else self._pack.poll()
        if source is None:
            return False
        assert self._pack is not None
        self._source = source
        self.report.add_note(f"batches come from {self._pack.path} from now on: {self._pack.about}")
        self._pack = None
        return True


class ListedLoader(NativeLoader):
    """A loader that asks the user's sampler for indices in every epoch. Creates a new engine for each epoch."""

    _epoch = -1
    _has_iterator = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._generator = SamplerGenerator(self._dataloader)
        self._drawn_epoch = -1  # epoch of the newest list of indices

    def __iter__(self) -> Any:
        self._check_before_epoch(TORCHS)
        self._switch_to_pack()
        self._end_last_iteration()
        self._epoch += 1
        makes_iterator = not self._has_iterator
        self._has_iterator = self._dataloader.persistent_workers  # torch would reuse its iterator
        self._use_seed(draws=False)  # the next line draws the number
        batches = self.draw(makes_iterator)
        follows = self._dataloader.num_workers == 0 and self.sampler_epoch() is not None
        return ListedIterator(self, batches, follows)

    def sampler_epoch(self) -> int | None:
        epoch = getattr(self._spec.epochs.sampler, "epoch", None)
        return epoch if isinstance(epoch, int) else None

    def draw(self, makes_iterator: bool) -> Any:
        """Returns an iterator over batches of the indices that the sampler yields next."""
        epochs = self._spec.epochs
        if makes_iterator:
            draw_worker_seed(self._dataloader)
        numbers = self._generator.draw(self._spec.known, epochs.sampler)
        self.close()
        self._loader = None  # its disk cache, if any, is written before the next loader opens it
        if len(numbers) < (epochs.batch_size if epochs.drop_last else 1):
            return iter(())
        self._loader = self._spec.loader(self._source, numbers)
        self._loader.set_epoch(self._epoch)
        self._drawn_epoch = self._epoch
        return iter(self._loader)

    def _end_last_iteration(self) -> None:
        if self._loader is None:
            return
        epoch, position = self._loader._run.place
        if epoch == self._drawn_epoch:  # otherwise the loop has taken all batches
            self._generator.end_early(math.ceil(position / self._spec.epochs.batch_size))

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration, for the sampler and the augmentations."""
        self._epoch = epoch - 1
        _set_epoch(self._spec.epochs.sampler, epoch)


class ListedIterator:
    """Iterator that draws new indices if the sampler's epoch changes before the first batch.

    torch does the same without workers.

    follows  False if the sampler's epoch does not matter any more
    """

    def __init__(self, loader: ListedLoader, batches: Any, follows: bool) -> None:
        self._loader, self._batches = loader, batches
        self._epoch = loader.sampler_epoch()
        self._begun = not follows

    def __iter__(self) -> ListedIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if not self._begun:
            self._begun = True
            if self._loader.sampler_epoch() != self._epoch:
                self._batches = self._loader.draw(makes_iterator=False)
        return next(self._batches)


def _set_epoch(sampler: Any, epoch: int) -> None:
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)


class OrderedLoader(NativeLoader):
    """A loader that computes the order of an epoch from its number, so that a run can resume anywhere."""

    _files_print: str | None = None  # fingerprint of a loader that reads the files

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._engine = self._spec.loader(self._source)
        self._loader = self._engine

    @property
    def epoch(self) -> int:
        """The number of the epoch in progress, or of the next one if none is in progress."""
        return self._engine.epoch

    def __iter__(self) -> Any:
        count = len(self._spec.known.numbers)
        self._check_before_epoch(f"the engine's order of {count:,} samples, seed {self._spec.seed}")
        self._use_seed(draws=True)
        iterator = iter(self._engine)
        if self._switch_to_pack():
            place = self._engine._run.place
            self._engine.close()
            self._engine = self._loader = self._spec.loader(self._source)
            self._engine._run.seek(place)
            iterator = iter(self._engine)
        return OrderedIterator(self, iterator)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration, or of an iteration that has not returned a batch yet."""
        _set_epoch(self._spec.epochs.sampler, epoch)
        self._seen_epoch = epoch
        self._engine.set_epoch(epoch)

    def follow_sampler(self) -> None:
        """Adopts the epoch of the sampler, because some scripts call sampler.set_epoch(), even after iter()."""
        if self._sees_other_epoch():
            self._engine.set_epoch(self._seen_epoch)

    def _sees_other_epoch(self) -> bool:
        epoch, seen = getattr(self._spec.epochs.sampler, "epoch", None), self._seen_epoch
        if isinstance(epoch, int):
            self._seen_epoch = epoch
        return self._seen_epoch != seen

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the batches received so far, as a small dict of numbers and strings."""
        self.follow_sampler()
        state = self._engine.state_dict()
        if self._source is self._files:
            return state
        if self._files_print is None:
            with self._spec.loader(self._files) as loader:
                self._files_print = loader.state_dict()["fingerprint"]
        return {**state, _FILES_FINGERPRINT: self._files_print}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resumes at the saved position with the saved seed, whether the saved run read the pack or the files."""
        self._use_seed(draws=False)  # the saved run has drawn the number
        self._sees_other_epoch()  # so that an epoch set earlier does not change the saved position
        seed = state.get("seed") if isinstance(state, dict) else None
        if self._arguments["seed"] is None and isinstance(seed, int) and seed != self._spec.seed:
            self._spec, self._files_print = self._spec.with_seed(seed), None
            self._engine.close()
            self._engine = self._loader = self._spec.loader(self._source)
        try:
            self._engine.load_state_dict(state)
        except Error:
            of_files = _state_of_files(state)
            if self._source is self._files and of_files is state:
                raise
            with self._spec.loader(self._files) as files:
                files.load_state_dict(of_files)
                self._engine._run.seek(files._run.place)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._dataloader, self._arguments, self.state_dict())


_FILES_FINGERPRINT = (
    "fingerprint_of_files"  # key in a state, because another rank may read files instead of packs
)


def _state_of_files(state: Any) -> Any:
    """Returns the state that a loader reading the files would have saved."""
    if not isinstance(state, dict) or _FILES_FINGERPRINT not in state:
        return state
    return {**state, "fingerprint": state[_FILES_FINGERPRINT]}


class OrderedIterator:
    """Iterator that adopts the sampler's epoch before the first batch."""

    def __init__(self, loader: OrderedLoader, batches: Any) -> None:
        self._loader, self._batches = loader, batches
        self._begun = False

    def __iter__(self) -> OrderedIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if not self._begun:
            self._begun = True
            self._loader.follow_sampler()
        return next(self._batches)


def _again(dataloader: Any, arguments: dict[str, Any], state: dict[str, Any] | None) -> Any:
    from .accelerate import accelerate

    loader = accelerate(dataloader, **arguments)
    if state is not None and hasattr(loader, "load_state_dict"):
        loader.load_state_dict(state)
    return loader
