"""A change that `tundish doctor --apply` tries: made to the script's DataLoader when the loop iterates it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..hidden_frames import hidden
from ..loaders.loader_facts import dataset_name
from ..loaders.loader_origin import origin_of


class Applied:
    """`wanted` is "workers=4" or "accelerate"; only loaders of that data set and these origins are changed.

    Where several loaders are, which have the same lines and as many samples, it is done only if all of them take it.
    """

    def __init__(self, wanted: str, dataset: str, origins: str = "") -> None:
        self._name, _, self._value = wanted.partition("=")
        self._dataset = dataset
        self._origins = frozenset(origins.split(",")) if origins else None
        self._busy = False
        self.done = False
        self.text = "no DataLoader of that data set was iterated"
        if self._origins is not None:
            self.text = "the DataLoader that feeds the training was not iterated again"
        self._refused = False

    def as_json(self) -> dict[str, Any]:
        return {"done": self.done, "text": self.text}

    def iterate(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """In place of DataLoader.__iter__."""

        def iterate(loader: Any) -> Any:
            if self._busy or not self._is_for(loader, sys._getframe(1)):
                return original(loader)
            if self._name == "workers":
                return original(self._with_workers(loader))
            return self._accelerated(loader, original)

        return iterate

    def _is_for(self, loader: Any, frame: FrameType) -> bool:
        if dataset_name(loader) != self._dataset:
            return False
        return self._origins is None or origin_of(loader, frame) in self._origins

    def _tell(self, done: bool, text: str) -> None:
        """What a loader that was left as it is says stays."""
        if not self._refused:
            self.done, self.text, self._refused = done, text, not done

    def _with_workers(self, loader: Any) -> Any:
        count = int(self._value)
        loader.num_workers = count
        if loader.prefetch_factor is None:
            loader.prefetch_factor = 2  # torch's default
        self._tell(True, f"num_workers={count}")
        return loader

    @hidden
    def _accelerated(self, loader: Any, original: Callable[[Any], Any]) -> Any:
        """The engine's iterator, kept beside the loader for the next epochs."""
        self._busy = True  # what accelerate() iterates itself stays torch's
        try:
            ours = loader.__dict__.get("_tundish_accelerated")
            if ours is None:
                ours = _accelerate(loader)
                loader.__dict__["_tundish_accelerated"] = ours
                self._tell(ours.report.native, str(ours.report))
            return iter(ours)
        except Exception as error:
            self._tell(False, f"{type(error).__name__}: {error}")
            return original(loader)
        finally:
            self._busy = False


def _accelerate(loader: Any) -> Any:
    try:
        from tundish.dropin.accelerate import accelerate
    except ModuleNotFoundError:
        raise RuntimeError(f"tundish is not installed for {sys.executable}") from None
    return accelerate(loader)
