"""Detects changes to a dataset or sampler after accelerate() examined it. The engine would miss such changes."""

from __future__ import annotations

from typing import Any

from .changes.dataset_facts import Identity, contents, is_equal
from .datasets.known_datasets import KnownDataset, add_facts
from .loader_arguments import check_arguments
from .reasons import NotTranslated
from .timm_loaders import facts_of
from .translate import translate

# Attributes of a sampler that may change during training.
_NOT_COMPARED = ("generator", "epoch")
_OBJECTS = ("data_source", "dataset", "sampler")


class Snapshot:
    """A snapshot of everything that the batches depend on, compared by value."""

    def __init__(self, dataloader: Any, known: KnownDataset, listed: bool) -> None:
        self._dataloader, self._known, self._listed = dataloader, known, listed
        self._transforms = translate(known.transforms)
        self._facts: dict[str, Any] = {}
        self._add_facts(self._facts)

    def check(self) -> None:
        """Raises RuntimeError if something changed."""
        now: dict[str, Any] = {}
        try:
            check_arguments(self._dataloader)
            self._add_facts(now)
        except NotTranslated as kept:
            raise _changed(f"the DataLoader ({kept.reasons[0].what})") from None
        except (AttributeError, TypeError, ValueError) as error:
            self._compare(now)  # if an object was replaced, this error names it
            raise _changed(f"the dataset ({error})") from error
        self._compare(now)
        if len(now) != len(self._facts):
            raise _changed("the dataset")
        try:
            transforms = translate(self._known.transforms)
        except NotTranslated as kept:
            raise _changed(f"the transforms of the dataset ({kept.reasons[0].what})") from None
        if transforms != self._transforms:
            raise _changed("the transforms of the dataset")

    def _compare(self, now: dict[str, Any]) -> None:
        for name, fact in now.items():
            if name not in self._facts or not is_equal(fact, self._facts[name]):
                raise _changed(name)

    def _add_facts(self, out: dict[str, Any]) -> None:
        add_facts(out, self._dataloader.dataset)
        out |= facts_of(self._dataloader)
        out["collate_fn"] = Identity(self._dataloader.collate_fn)
        batches = self._dataloader.batch_sampler
        _add_settings(out, batches, "batch_sampler")
        if not self._listed:  # a listed sampler is read again in every epoch
            _add_settings(out, batches.sampler, "sampler")


def _add_settings(out: dict[str, Any], sampler: Any, name: str) -> None:
    out[f"{name}.__iter__"] = type(sampler).__iter__
    for key, value in vars(sampler).items():
        if key in _OBJECTS:
            out[f"{name}.{key}"] = Identity(value)
            has_length = hasattr(value, "__len__") and key != "sampler"
            out[f"len({name}.{key})"] = len(value) if has_length else 0
        elif key not in _NOT_COMPARED:
            out[f"{name}.{key}"] = contents(value)


def _changed(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name} changed after tundish.accelerate() was called: call tundish.accelerate() again"
    )
