"""Identifies the loader that feeds the training, and the loop's position in each open iterator.

A loop may iterate several loaders: for validation, or two at once. The loader that returned the
last batch before an optimizer step feeds the training. Only its batches are cached and replaced.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MOST_ORIGINS = 64


@dataclass
class Iteration:
    """One pass over a loader.

    `place`: file and line of the loop's `for`, or of the iterated object.
    """

    place: tuple[str, int]
    taken: int = 0  # batches taken from the loader
    served: int = 0  # cached batches returned instead


class Feeding:
    """`fed_by` and `iterator` are weak references to the loader and its latest iterator."""

    def __init__(self) -> None:
        self._open: weakref.WeakKeyDictionary[Any, Iteration] = weakref.WeakKeyDictionary()
        # number of batches taken before the loop's thread was known
        self._taken_early: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._last: tuple[Any, Callable[[], Any], tuple[str, int]] | None = None
        self._last_origin = ""
        self._have_fed: weakref.WeakSet[Any] = weakref.WeakSet()
        self.fed_by: Callable[[], Any] = _nothing
        self.iterator: Callable[[], Any] = _nothing
        self.loader: Any = None  # kept for the verdict if the script drops the loader
        self.place = ("", 0)
        self.origins: dict[
            str, None
        ] = {}  # origins of torch loaders that fed a step; see loader_origin.py

    def begin(self, iterator: Any, place: Callable[[], tuple[str, int]]) -> bool:
        """Registers an iterator. Returns whether the iterator is new or restarted."""
        if iterator in self._open:
            return False
        self._open[iterator] = Iteration(place(), taken=self._taken_before(iterator))
        return True

    def note_taken_early(self, iterator: Any) -> None:
        """Counts a batch before the first optimizer step: epochs must keep their length."""
        self._taken_early[iterator] = self._taken_early.get(iterator, 0) + 1

    def _taken_before(self, iterator: Any) -> int:
        """Returns the number of batches taken before the iterator was registered.

        torch counts them itself, also those taken before the watch began.
        """
        counted = getattr(iterator, "_num_yielded", 0)
        early = self._taken_early.pop(iterator, 0)
        return max(early, counted) if isinstance(counted, int) else early

    def forget(self, iterator: Any) -> None:
        """Removes an iterator whose epoch is over or was abandoned."""
        self._open.pop(iterator, None)

    def iteration_of(self, iterator: Any) -> Iteration:
        return self._open.setdefault(iterator, Iteration(("", 0)))

    def batch_returned(self, iterator: Any, loader: Any) -> None:
        self._last = (loader, weakref.ref(iterator), self.iteration_of(iterator).place)
        self._last_origin = getattr(iterator, "_tundish_origin", "")

    def optimizer_stepped(self) -> bool:
        """Assigns an optimizer step to the loader of the last batch.

        Returns whether the loader was recreated, for example for a new epoch. A recreated loader
        feeds a step for the first time, at the same line and with the same dataset class as the
        previous loader.
        """
        if self._last is None:
            return False
        if self._last_origin and len(self.origins) < MOST_ORIGINS:
            self.origins[self._last_origin] = None
        before = (self.place, _dataset_class(self.loader))
        (self.loader, self.iterator, self.place), self._last = self._last, None
        self.fed_by = self.iterator if self.loader is None else weakref.ref(self.loader)
        if self.loader is None or self.loader in self._have_fed:
            return False
        self._have_fed.add(self.loader)
        return before == (self.place, _dataset_class(self.loader))

    def feeds(self, iterator: Any, loader: Any) -> bool:
        return self.fed_by() is loader_or_iterator(iterator, loader)

    def pop_served_count(self, iterator: Any) -> int:
        """Returns the number of replaced batches in this iterator, then resets it to 0."""
        found = self._open.get(iterator)
        if found is None:
            return 0
        count, found.served = found.served, 0
        return count


def loader_or_iterator(iterator: Any, loader: Any) -> Any:
    """Returns the loader, or the iterator if the loader is unknown because it predates the watch."""
    return iterator if loader is None else loader


def _dataset_class(loader: Any) -> Any:
    """Returns the class of the dataset for torch loaders, otherwise of the loader."""
    return type(loader.dataset) if hasattr(loader, "num_workers") else type(loader)


def _nothing() -> None:
    """Weak reference to nothing."""
