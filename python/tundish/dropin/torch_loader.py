"""The replacement for a DataLoader whose batches torch keeps making."""

from __future__ import annotations

import weakref
from time import perf_counter
from typing import Any

from .accelerate_report import AccelerateReport
from .device_copies import GpuCopier, PrefetchedCopies, SynchronousCopies
from .forwarded_attributes import is_forwarded
from .rank_orders import TORCHS, SamplerOrders
from .timm_loaders import inner_loader, is_prefetcher
from .waits import Waits


class TorchLoader:
    """Iterates over torch's DataLoader and forwards all other attributes to it.

    With `device`, batches are copied ahead of the training loop. stats() reports how long the loop waited.
    """

    def __init__(
        self, dataloader: Any, report: AccelerateReport, device: Any, arguments: dict[str, Any]
    ) -> None:
        self._dataloader = dataloader
        self._arguments = arguments  # arguments of accelerate(), for pickling
        self.report = report
        self._waits = Waits()
        inner = inner_loader(dataloader)
        if device is not None and is_prefetcher(dataloader) and dataloader.device.type == "cuda":
            report.add_note(f"timm's PrefetchLoader copies the batches to {dataloader.device}")
            device = None
        self._copies = None if device is None else GpuCopier(device)
        self._ending: Any = None  # ends the copies of the newest iteration, which may be gone
        self._running: weakref.WeakSet[Any] = weakref.WeakSet()  # copies of all iterations
        ahead = inner.num_workers > 0 and inner is dataloader
        why_not = (
            "with num_workers=0 the dataset shares its thread and random numbers with the loop"
        )
        if inner is not dataloader:
            why_not = "timm's PrefetchLoader runs in the thread of the loop"
        self._copy_class = PrefetchedCopies if ahead else SynchronousCopies
        if self._copies is not None:
            report.add_note(
                f"batches are copied to {device} ahead of the loop"
                if ahead
                else f"batches are copied to {device} when the loop requests them: {why_not}"
            )

    def __len__(self) -> int:
        return len(self._dataloader)

    _rank_orders: SamplerOrders | None = None

    def __iter__(self) -> TorchIterator:
        if self._rank_orders is not None:
            self._rank_orders.check(TORCHS)
        if inner_loader(self._dataloader).persistent_workers:
            self._end_copies()  # torch reuses its iterator, even if the loop left the epoch early
        batches: Any = iter(self._dataloader)
        if self._copies is None:
            return TorchIterator(batches, self._dataloader, self._waits)
        running = self._copy_class(batches, self._copies)
        self._ending = running.ending
        self._running.add(running)
        return TorchIterator(running, self._dataloader, self._waits)

    def _end_copies(self) -> None:
        ending, self._ending = self._ending, None
        if ending is not None:
            ending()

    def close(self) -> None:
        """Stops the threads that copy batches to a GPU. A later iteration starts a new thread."""
        for running in list(self._running):
            if running.ending is not None:
                running.ending()
        self._end_copies()

    def __enter__(self) -> TorchLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Returns statistics for a logger, named as in tundish.Loader.stats()."""
        return self._waits.stats(reset)

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
        return _again, (self._dataloader, self._arguments)

    def __repr__(self) -> str:
        return f"tundish.accelerate({self._dataloader!r}): torch makes the batches"


_TAKE_EVERY = 1000  # number of batches after which waiting times are added to the sums


class TorchIterator:
    """Iterator that measures how long the loop waits. It must be fast: a batch may take only 20 microseconds."""

    __slots__ = ("__weakref__", "_loader", "_next", "_waited", "_waits")

    def __init__(self, batches: Any, loader: Any, waits: Waits) -> None:
        self._next, self._waits, self._waited = batches.__next__, waits, waits.new.append
        self._loader = loader  # torch's DataLoader, for the length
        waits.begin()

    def __iter__(self) -> TorchIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        begin = perf_counter()
        batch = self._next()
        self._waited(perf_counter() - begin)
        if len(self._waits.new) > _TAKE_EVERY:
            self._waits.take_new()
        return batch


def _again(dataloader: Any, arguments: dict[str, Any]) -> Any:
    from .accelerate import accelerate

    return accelerate(dataloader, **arguments)
