"""What stands in for a DataLoader whose batches the engine makes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._c.errors import Error
from ..data.loader import Loader
from ..data.open_source import Source
from .accelerate_report import Report
from .changes.change_detection import Snapshot
from .datasets.known_datasets import Known
from .datasets.part_sources import labels_of
from .datasets.parts import Names, Pixels
from .forwarded_attributes import forwards
from .packs.packs import PackBeside
from .samplers import Epochs, draw_list, order_of


def as_list(batch: Any) -> Any:
    """As default_collate: a list, not a tuple."""
    return list(batch) if isinstance(batch, tuple) else batch


class AsDict:
    """As default_collate makes of samples that are dicts."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def __call__(self, batch: Any) -> Any:
        images, labels = batch
        return {name: images if is_image else labels for name, is_image in self._names}


class Recipe:
    """How loaders over the samples of a data set are made."""

    def __init__(self, known: Known, epochs: Epochs, options: dict[str, Any]) -> None:
        self.known, self.epochs, self._options = known, epochs, options

    @property
    def seed(self) -> int:
        return int(self.epochs.options.get("seed", self._options["seed"]))

    def with_seed(self, seed: int) -> Recipe:
        epochs = replace(self.epochs, options={**self.epochs.options, "seed": seed})
        return Recipe(self.known, epochs, {**self._options, "seed": seed})

    def loader(self, source: Source, numbers: Any = None, **others: Any) -> Loader:
        """Over these samples in this order; by default those of every epoch."""
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
    """Its attributes are those of the DataLoader, but for those that are of the engine: stats(), report."""

    def __init__(
        self,
        theirs: Any,
        recipe: Recipe,
        files: Source,
        packed: Source | None,
        report: Report,
        arguments: dict[str, Any],
        pack: PackBeside | None,
    ) -> None:
        self._theirs = theirs
        self._recipe = recipe
        self._files = files
        self._source = packed or files  # what is read
        self._arguments = arguments  # of accelerate(), for pickle
        self._pack = pack  # None, or not ready yet
        self._snapshot = Snapshot(theirs, recipe.known, recipe.epochs.listed)
        self._seen_epoch = 0  # of the sampler
        self.report = report

    # --- as torch's --------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._theirs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_theirs" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._theirs, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if forwards(self, name):
            setattr(self._theirs, name, value)
        else:
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._theirs, self._arguments, None)

    def __repr__(self) -> str:
        return f"tundish.accelerate({self._theirs!r}): the engine makes the batches"

    # --- the engine --------------------------------------------------------------------------

    _loader: Loader | None = None

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Flat, ready for a logger: docs/loader-performance.md lists the keys. Sums are since the newest engine was made."""
        return {} if self._loader is None else self._loader.stats(reset)

    def bad_samples(self) -> list[dict[str, Any]]:
        """With on_error="skip" or "substitute": samples that could not be loaded."""
        return [] if self._loader is None else self._loader.bad_samples()

    def close(self) -> None:
        """Ends the threads. Tensors that were handed out stay valid."""
        if self._loader is not None:
            self._loader.close()

    def __enter__(self) -> NativeLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_pack(self) -> bool:
        """Whether a pack has become ready: batches come out of it from now on."""
        source = None if self._pack is None else self._pack.poll()
        if source is None:
            return False
        assert self._pack is not None
        self._source = source
        self.report.add_note(f"batches come from {self._pack.path} from now on: {self._pack.about}")
        self._pack = None
        return True


class ListedLoader(NativeLoader):
    """Every epoch has the indices of the user's sampler: an engine of its own."""

    _epoch = -1
    _has_iterator = False

    def __iter__(self) -> Any:
        self._snapshot.check()
        self._take_pack()
        self._epoch += 1
        epochs = self._recipe.epochs
        makes_iterator = not self._has_iterator
        self._has_iterator = self._theirs.persistent_workers  # torch iterates with it again
        numbers = draw_list(self._theirs, self._recipe.known, epochs.sampler, makes_iterator)
        self.close()
        self._loader = None  # its disk cache, if any, is complete for the next one
        if len(numbers) < (epochs.batch_size if epochs.drop_last else 1):
            return iter(())
        self._loader = self._recipe.loader(self._source, numbers)
        self._loader.set_epoch(self._epoch)
        return iter(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch: of the sampler, and of the augmentations."""
        self._epoch = epoch - 1
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)


class OrderedLoader(NativeLoader):
    """Every epoch is a function of its number: it can be resumed anywhere."""

    _files_print: str | None = None  # the fingerprint of a loader that reads the files

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._engine = self._recipe.loader(self._source)
        self._loader = self._engine

    @property
    def epoch(self) -> int:
        """The number of the epoch in progress, or of the next one when none is."""
        return self._engine.epoch

    def __iter__(self) -> Any:
        self._snapshot.check()
        iterator = iter(self._engine)
        if self._take_pack():
            place = self._engine._run.place
            self._engine.close()
            self._engine = self._loader = self._recipe.loader(self._source)
            self._engine._run.go_to(place)
            iterator = iter(self._engine)
        return OrderedIterator(self, iterator)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, or the one in progress that has given no batch yet."""
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)
        self._seen_epoch = epoch
        self._engine.set_epoch(epoch)

    def follow_sampler(self) -> None:
        """Scripts and frameworks call set_epoch() of the sampler that they made, some of them after iter()."""
        epoch = getattr(self.sampler, "epoch", None)
        if isinstance(epoch, int) and epoch != self._seen_epoch:
            self._seen_epoch = epoch
            self._engine.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """A small dict of numbers and strings: what was handed out so far."""
        state = self._engine.state_dict()
        if self._source is self._files:
            return state
        if self._files_print is None:
            with self._recipe.loader(self._files) as loader:
                self._files_print = loader.state_dict()["fingerprint"]
        return {**state, _OF_FILES: self._files_print}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where the state was saved: with its seed, whether batches come from a pack or from the files."""
        seed = state.get("seed") if isinstance(state, dict) else None
        if self._arguments["seed"] is None and isinstance(seed, int) and seed != self._recipe.seed:
            self._recipe, self._files_print = self._recipe.with_seed(seed), None
            self._engine.close()
            self._engine = self._loader = self._recipe.loader(self._source)
        try:
            self._engine.load_state_dict(state)
        except Error:
            of_files = _state_of_files(state)
            if self._source is self._files and of_files is state:
                raise
            with self._recipe.loader(self._files) as files:
                files.load_state_dict(of_files)
                self._engine._run.go_to(files._run.place)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._theirs, self._arguments, self.state_dict())


_OF_FILES = (
    "fingerprint_of_files"  # in a state: another rank may read the files instead of the pack
)


def _state_of_files(state: Any) -> Any:
    """Returns the state that a loader would have saved that reads the files."""
    if not isinstance(state, dict) or _OF_FILES not in state:
        return state
    return {**state, "fingerprint": state[_OF_FILES]}


class OrderedIterator:
    """Looks at the sampler's epoch before the first batch."""

    def __init__(self, loader: OrderedLoader, batches: Any) -> None:
        self._loader, self._batches = loader, batches
        self._begun = False

    def __iter__(self) -> OrderedIterator:
        return self

    def __next__(self) -> Any:
        if not self._begun:
            self._begun = True
            self._loader.follow_sampler()
        return next(self._batches)


def _again(theirs: Any, arguments: dict[str, Any], state: dict[str, Any] | None) -> Any:
    from .accelerate import accelerate

    loader = accelerate(theirs, **arguments)
    if state is not None and hasattr(loader, "load_state_dict"):
        loader.load_state_dict(state)
    return loader
