"""Restores this process's random number generators after the doctor has created samples."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any


def random_states(loader: Any) -> Callable[[], None]:
    """Saves all random states, including the loader's. Returns a function that restores them."""
    torch, numpy = sys.modules["torch"], sys.modules.get("numpy")
    ours, theirs = random.getstate(), torch.get_rng_state()
    arrays = numpy.random.get_state() if numpy is not None else None
    sampler = getattr(loader, "sampler", None)
    own = [getattr(owner, "generator", None) for owner in (loader, sampler)]
    states = [
        (generator, generator.get_state())
        for generator in own
        if isinstance(generator, torch.Generator)
    ]

    def restore() -> None:
        random.setstate(ours)
        torch.set_rng_state(theirs)
        if numpy is not None:
            numpy.random.set_state(arrays)
        for generator, state in states:
            generator.set_state(state)

    return restore
