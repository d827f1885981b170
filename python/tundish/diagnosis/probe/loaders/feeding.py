"""Which loader feeds the training, and how far the loop is in each iterator that it has open.

A loop may iterate several loaders: for validation, or two at once. The one that gave the last batch before an
optimizer step feeds the training; only its batches are kept, and only it is replaced by them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MOST_ORIGINS = 64


@dataclass
class Iteration:
    """One pass over a loader. `place`: file and line of the loop's `for`, or of what it iterates."""

    place: tuple[str, int]
    taken: int = 0  # batches of the loader
    served: int = 0  # cached ones in their place


class Feeding:
    """`fed_by` and `iterator` are weak references: the loader, and its last iterator."""

    def __init__(self) -> None:
        self._open: weakref.WeakKeyDictionary[Any, Iteration] = weakref.WeakKeyDictionary()
        self._last: tuple[Any, Callable[[], Any], tuple[str, int]] | None = None
        self._last_origin = ""
        self._have_fed: weakref.WeakSet[Any] = weakref.WeakSet()
        self.fed_by: Callable[[], Any] = _nothing
        self.iterator: Callable[[], Any] = _nothing
        self.loader: Any = None  # it is judged, also when the script has dropped it
        self.place = ("", 0)
        self.origins: dict[str, None] = {}  # of torch's loaders that fed a step: origin.py

    def begin(self, iterator: Any, place: Callable[[], tuple[str, int]]) -> bool:
        """Whether this iterator is new, or begins anew."""
        if iterator in self._open:
            return False
        self._open[iterator] = Iteration(place())
        return True

    def forget(self, iterator: Any) -> None:
        """Its epoch is over, or was left."""
        self._open.pop(iterator, None)

    def of(self, iterator: Any) -> Iteration:
        return self._open.setdefault(iterator, Iteration(("", 0)))

    def gave_a_batch(self, iterator: Any, loader: Any) -> None:
        self._last = (loader, weakref.ref(iterator), self.of(iterator).place)
        self._last_origin = getattr(iterator, "_tundish_origin", "")

    def stepped(self) -> bool:
        """An optimizer's step: what came last has fed it. Whether that is a loader that was made anew, as for every
        epoch: it never fed a step before, and stands in the place of one with the same class of data set."""
        if self._last is None:
            return False
        if self._last_origin and len(self.origins) < MOST_ORIGINS:
            self.origins[self._last_origin] = None
        before = (self.place, _class_of(self.loader))
        (self.loader, self.iterator, self.place), self._last = self._last, None
        self.fed_by = self.iterator if self.loader is None else weakref.ref(self.loader)
        if self.loader is None or self.loader in self._have_fed:
            return False
        self._have_fed.add(self.loader)
        return before == (self.place, _class_of(self.loader))

    def feeds(self, iterator: Any, loader: Any) -> bool:
        return self.fed_by() is source_of(iterator, loader)

    def take_unserved(self, iterator: Any) -> int:
        """Batches that cached ones replaced in this iterator; 0 when it is asked again."""
        found = self._open.get(iterator)
        if found is None:
            return 0
        count, found.served = found.served, 0
        return count


def source_of(iterator: Any, loader: Any) -> Any:
    """The iterator stands for a loader that is not known, because it was made before the watch began."""
    return iterator if loader is None else loader


def _class_of(loader: Any) -> Any:
    """Of its data set; only loaders of torch are asked for it."""
    return type(loader.dataset) if hasattr(loader, "num_workers") else type(loader)


def _nothing() -> None:
    """A weak reference to nothing."""
