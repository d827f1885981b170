"""What stands in for a DataLoader whose data set keeps its own code."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from .accelerate_report import Report
from .device_copies import CopiedAhead, CopiedHere, GpuCopies
from .forwarded_attributes import forwards
from .waits import Waits


class KeptLoader:
    """Iterates torch's DataLoader and forwards every other attribute to it.

    With `device` the batches are copied ahead of the loop. stats() says what the loop waited.
    """

    def __init__(self, theirs: Any, report: Report, device: Any, arguments: dict[str, Any]) -> None:
        self._theirs = theirs
        self._arguments = arguments  # of accelerate(), for pickle
        self.report = report
        self._waits = Waits()
        self._copies = None if device is None else GpuCopies(device)
        self._ending: Any = None  # of the copies of the newest iteration, which may be gone
        ahead = theirs.num_workers > 0
        self._way = CopiedAhead if ahead else CopiedHere
        if self._copies is not None:
            report.add_note(
                f"batches are copied to {device} ahead of the loop"
                if ahead
                else f"batches are copied to {device} when the loop asks for them: with num_workers=0 the data set shares "
                "its thread and random numbers with the loop"
            )

    def __len__(self) -> int:
        return len(self._theirs)

    def __iter__(self) -> KeptIterator:
        self._end_copies()  # left early: torch may use its iterator again
        batches: Any = iter(self._theirs)
        if self._copies is None:
            return KeptIterator(batches, self._waits)
        running = self._way(batches, self._copies)
        self._ending = running.ending
        return KeptIterator(running, self._waits)

    def _end_copies(self) -> None:
        ending, self._ending = self._ending, None
        if ending is not None:
            ending()

    def close(self) -> None:
        """Ends the thread that copies batches to a GPU. A later iteration starts a new one."""
        self._end_copies()

    def __enter__(self) -> KeptLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Flat, ready for a logger, with the names of tundish.Loader.stats()."""
        return self._waits.stats(reset)

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
        return _again, (self._theirs, self._arguments)

    def __repr__(self) -> str:
        return f"tundish.accelerate({self._theirs!r}): torch makes the batches"


_TAKE_EVERY = 1000  # batches


class KeptIterator:
    """Counts the time that the loop waits. A loader of tiny batches makes one in 20 microseconds: little may happen here."""

    __slots__ = ("__weakref__", "_next", "_waited", "_waits")

    def __init__(self, batches: Any, waits: Waits) -> None:
        self._next, self._waits, self._waited = batches.__next__, waits, waits.new.append
        waits.begin()

    def __iter__(self) -> KeptIterator:
        return self

    def __next__(self) -> Any:
        begin = perf_counter()
        batch = self._next()
        self._waited(perf_counter() - begin)
        if len(self._waits.new) > _TAKE_EVERY:
            self._waits.take_new()
        return batch


def _again(theirs: Any, arguments: dict[str, Any]) -> Any:
    from .accelerate import accelerate

    return accelerate(theirs, **arguments)
