"""The attribute `loader.sampler`, for frameworks that expect every loader to have a sampler."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

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
