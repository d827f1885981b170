"""Saves and restores the random generators of this process."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from typing import Any


class PythonRandomState:
    """A snapshot of the random generators of Python and NumPy."""

    def __init__(self) -> None:
        numpy = sys.modules.get("numpy")
        self._python = random.getstate()
        self._numpy = None if numpy is None else numpy.random.get_state()

    def restore(self) -> None:
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)


class RandomState(PythonRandomState):
    """A snapshot of the random generators of Python, NumPy and torch.

    generators  further torch.Generator objects to include
    gpus        whether to include the generators of GPUs. They are always left out before the first
                use of CUDA, because reading them would initialize CUDA
    """

    def __init__(self, generators: Iterable[Any] = (), gpus: bool = True) -> None:
        super().__init__()
        torch = sys.modules["torch"]
        gpus = gpus and torch.cuda.is_initialized()
        self._cpu = torch.get_rng_state()
        self._gpus = torch.cuda.get_rng_state_all() if gpus else None
        self._generators = [(generator, generator.get_state()) for generator in generators]

    def restore(self) -> None:
        super().restore()
        torch = sys.modules["torch"]
        torch.set_rng_state(self._cpu)
        if self._gpus is not None:
            torch.cuda.set_rng_state_all(self._gpus)
        for generator, state in self._generators:
            generator.set_state(state)


def loader_random_state(loader: Any) -> RandomState:
    """Returns a snapshot that includes the generators of a loader and its samplers, but not of GPUs."""
    batches = getattr(loader, "batch_sampler", None)
    owners = (loader, getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None))
    own = [getattr(owner, "generator", None) for owner in owners]
    kind = sys.modules["torch"].Generator
    return RandomState([one for one in own if isinstance(one, kind)], gpus=False)
