"""Seeds of accelerated DataLoaders, taken from torch's random generators.

torch's DataLoader draws a seed whenever it is iterated. Therefore two loaders, or a loader that is recreated in every
epoch, have different orders and augmentations. The same holds for accelerated loaders, which draw fewer numbers.
"""

from __future__ import annotations

import weakref
from typing import Any

_STEP = (
    0x9E3779B97F4A7C15  # distance between the seeds of loaders made with the same generator state
)

_unused: weakref.WeakSet[LoaderSeed] = weakref.WeakSet()


class LoaderSeed:
    """The seed of one loader: the next number of a generator, which use() draws.

    The constructor draws nothing. Loaders that are created before any of them is iterated get different seeds.

    generator  a torch.Generator; None: torch's default generator
    """

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._next = _peek(generator)
        taken = {seed._number for seed in list(_unused) if seed._next == self._next}
        self._number: int = next(n for n in range(len(taken) + 1) if n not in taken)
        self.value = (self._next + self._number * _STEP) % 2**63
        _unused.add(self)

    def use(self, draws: bool = True) -> None:
        """Draws the number from the generator. Later calls have no effect.

        draws  False if other code draws the number, or if the resumed run has already drawn it
        """
        if self in _unused:
            _unused.discard(self)
            if draws:
                _draw(self._generator)


def seed_for(dataloader: Any, sampler: Any, listed: bool) -> LoaderSeed:
    """Returns the seed of a DataLoader, from the generator that torch would draw from.

    listed  whether the sampler draws its own indices, so that the seed is only for augmentations
    """
    own = None if listed else getattr(sampler, "generator", None)
    return LoaderSeed(dataloader.generator if own is None else own)


def _draw(generator: Any) -> int:
    import torch

    number = torch.empty((), dtype=torch.int64, device="cpu").random_(generator=generator)
    return int(number) % 2**63


def _peek(generator: Any) -> int:
    """Returns the next number of a generator without drawing it."""
    import torch

    copy = torch.Generator()
    copy.set_state((torch.default_generator if generator is None else generator).get_state())
    return _draw(copy)
