"""Applies the change that `tundish doctor --apply` requests to the script's DataLoader when it is iterated."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..hidden_frames import hidden
from ..loaders.loader_facts import dataset_name
from ..loaders.loader_origin import loader_origin


class Applied:
    """Changes a DataLoader of the script. `wanted` is the change: "workers=4" or "accelerate".

    Only changes loaders with the given dataset and origins (see loader_origin.py). If several loaders
    match, the change counts as done only if it works for all of them.
    """

    def __init__(self, wanted: str, dataset: str, origins: str = "") -> None:
        self._name, _, self._value = wanted.partition("=")
        self._dataset = dataset
        self._origins = frozenset(origins.split(",")) if origins else None
        self._busy = False
        self.done = False
        self.text = "no DataLoader of this dataset was iterated"
        if self._origins is not None:
            self.text = "the DataLoader that feeds the training was not iterated again"
        self._refused = False

    def iterate(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Returns a replacement for DataLoader.__iter__."""

        def iterate(loader: Any) -> Any:
            if self._busy or not self._matches(loader, sys._getframe(1)):
                return original(loader)
            if self._name == "workers":
                return original(self._with_workers(loader))
            return self._accelerated(loader, original)

        return iterate

    def _matches(self, loader: Any, frame: FrameType) -> bool:
        if dataset_name(loader) != self._dataset:
            return False
        return self._origins is None or loader_origin(loader, frame) in self._origins

    def _set_outcome(self, done: bool, text: str) -> None:
        """Sets the outcome. Once a loader could not be changed, the outcome stays a failure."""
        if not self._refused:
            self.done, self.text, self._refused = done, text, not done

    def _with_workers(self, loader: Any) -> Any:
        count = int(self._value)
        loader.num_workers = count
        if loader.prefetch_factor is None:
            loader.prefetch_factor = 2  # torch's default
        self._set_outcome(True, f"num_workers={count}")
        return loader

    @hidden
    def _accelerated(self, loader: Any, original: Callable[[Any], Any]) -> Any:
        """Returns an iterator of the accelerated loader, which is kept for later epochs."""
        self._busy = True  # do not change loaders that accelerate() itself iterates
        try:
            ours = loader.__dict__.get("_tundish_accelerated")
            if ours is None:
                ours = _accelerate(loader)
                loader.__dict__["_tundish_accelerated"] = ours
                self._set_outcome(ours.report.native, str(ours.report))
            return iter(ours)
        except Exception as error:
            self._set_outcome(False, f"{type(error).__name__}: {error}")
            return original(loader)
        finally:
            self._busy = False


def _accelerate(loader: Any) -> Any:
    try:
        from tundish.dropin.accelerate import accelerate
    except ModuleNotFoundError:
        raise RuntimeError(f"tundish is not installed for {sys.executable}") from None
    return accelerate(loader)
