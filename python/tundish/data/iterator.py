"""The iterator and the sampler of a loader, as loops and frameworks use them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loader import Loader


class Sampler:
    """The sampler that frameworks expect: `loader.sampler.set_epoch(n)`."""

    def __init__(self, loader: Loader) -> None:
        self._loader = weakref.ref(loader)

    def set_epoch(self, epoch: int) -> None:
        loader = self._loader()
        if loader is not None:
            loader.set_epoch(epoch)


class LoaderIterator:
    """Iterates over a loader. Several threads may call next(); each batch goes to one thread."""

    def __init__(self, loader: Loader, iteration: int) -> None:
        self._loader: Loader | None = loader
        self._iteration = iteration

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        loader = self._loader  # another thread may end the iteration meanwhile
        if loader is None:
            raise StopIteration
        try:
            return loader._run.next(self._iteration)
        except StopIteration:
            self._loader = None
            raise
