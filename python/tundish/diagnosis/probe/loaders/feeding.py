"""Identifies the loader that feeds the training, and the loop's position in each of its iterators.

A loop may iterate several loaders: for validation, or two at once. The loader that returned the
last batch before an optimizer step feeds the training, unless the loop waits clearly longer for
another loader in every step. Only batches of the loader that feeds are cached and replaced.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MOST_ORIGINS = 64
# The loop waits clearly longer for a loader if both hold, compared with the last loader of a step.
LONGER, LEAST_LONGER_S = 2.0, 1e-3
_NEWEST = 0.2  # weight of the newest step in the usual waiting time of a loader


@dataclass
class Iteration:
    """One pass over a loader.

    `place` is the file and line of the loop's `for`, or of the code that created the iterator.
    """

    place: tuple[str, int]
    taken: int = 0  # batches taken from the loader
    served: int = 0  # cached batches returned instead


@dataclass
class _Taken:
    """The batches that one loader returned since the last optimizer step."""

    loader: Any
    iterator: Callable[[], Any]  # weak reference
    place: tuple[str, int] = ("", 0)
    origin: str = ""
    count: int = 0
    waited_s: float = 0.0

    @property
    def key(self) -> Any:
        return loader_or_iterator(self.iterator(), self.loader)


class Feeding:
    """Keeps track of the loader that feeds the training.

    `fed_by` and `iterator` are weak references to the loader and its latest iterator.
    """

    def __init__(self) -> None:
        self._open: weakref.WeakKeyDictionary[Any, Iteration] = weakref.WeakKeyDictionary()
        # number of batches taken before the loop's thread was known
        self._taken_early: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._taken: dict[int, _Taken] = {}  # by id of the loader, in the order of the last batches
        self._in_last_step: weakref.WeakSet[Any] = weakref.WeakSet()
        self._usual_s: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
        self.batches = 0  # of the loader that fed the last optimizer step
        self.other_s = 0.0  # waiting for other loaders before that step
        self._have_fed: weakref.WeakSet[Any] = weakref.WeakSet()
        self.fed_by: Callable[[], Any] = _nothing
        self.iterator: Callable[[], Any] = _nothing
        self.loader: Any = None  # for the verdict, because the script may drop the loader
        self.place = ("", 0)
        self.origins: dict[
            str, None
        ] = {}  # origins of torch loaders that have fed a step; see loader_origin.py

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
        """Removes an iterator whose epoch has ended or was abandoned."""
        self._open.pop(iterator, None)

    def iteration_of(self, iterator: Any) -> Iteration:
        return self._open.setdefault(iterator, Iteration(("", 0)))

    def batch_returned(self, iterator: Any, loader: Any, waited_s: float | None) -> None:
        """`waited_s`: None for a cached batch."""
        key = loader_or_iterator(iterator, loader)
        taken = self._taken.pop(id(key), None) or _Taken(loader, weakref.ref(iterator))
        taken.iterator, taken.place = weakref.ref(iterator), self.iteration_of(iterator).place
        taken.origin = getattr(iterator, "_tundish_origin", "")
        taken.count += 1
        if waited_s is not None:
            taken.waited_s += waited_s
            before = self._usual_s.get(key, waited_s)
            self._usual_s[key] = (1 - _NEWEST) * before + _NEWEST * waited_s
        self._taken[id(key)] = taken

    def _feeding(self, taken: list[_Taken]) -> _Taken:
        """Returns what fed the step.

        A loader that was not used in the step before may be a validation's, for which a loop waits
        longer.
        """
        last = taken[-1]
        usual_s = self._usual_s.get(last.key, 0.0)
        for other in taken[:-1]:
            longer_s = self._usual_s.get(other.key, 0.0)
            clearly = longer_s > max(LONGER * usual_s, usual_s + LEAST_LONGER_S)
            if clearly and other.key in self._in_last_step:
                last, usual_s = other, longer_s
        return last

    def optimizer_stepped(self) -> bool:
        """Assigns an optimizer step to one of the loaders that returned batches before it.

        Returns whether the script has recreated the loader, for example for a new epoch. This is the
        case if the loader feeds a step for the first time, but its line and dataset class are the same
        as for the previous loader.
        """
        taken, self._taken = list(self._taken.values()), {}
        self.batches, self.other_s = 0, 0.0
        if not taken:
            return False
        fed = self._feeding(taken)
        self._in_last_step = weakref.WeakSet(one.key for one in taken if one.key is not None)
        self.batches = fed.count
        self.other_s = sum(one.waited_s for one in taken if one is not fed)
        if fed.origin and len(self.origins) < MOST_ORIGINS:
            self.origins[fed.origin] = None
        before = (self.place, _dataset_class(self.loader))
        self.loader, self.iterator, self.place = fed.loader, fed.iterator, fed.place
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
    """Returns the loader. If its iteration began before the probe started, returns the iterator."""
    return iterator if loader is None else loader


def _dataset_class(loader: Any) -> Any:
    """Returns the class of the dataset for a torch loader, otherwise the class of the loader."""
    return type(loader.dataset) if hasattr(loader, "num_workers") else type(loader)


def _nothing() -> None:
    """Stands in for a weak reference to nothing."""
