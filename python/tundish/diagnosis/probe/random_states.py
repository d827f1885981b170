"""The random number generators of this process, put back after samples were made for the doctor."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any


def random_states(loader: Any) -> Callable[[], None]:
    """Saves them, with the loader's own, and gives the function that puts them back."""
    torch, numpy = sys.modules["torch"], sys.modules.get("numpy")
    ours, theirs = random.getstate(), torch.get_rng_state()
    arrays = numpy.random.get_state() if numpy is not None else None
    sampler = getattr(loader, "sampler", None)
    own = [getattr(one, "generator", None) for one in (loader, sampler)]
    states = [(one, one.get_state()) for one in own if isinstance(one, torch.Generator)]

    def restore() -> None:
        random.setstate(ours)
        torch.set_rng_state(theirs)
        if numpy is not None:
            numpy.random.set_state(arrays)
        for generator, state in states:
            generator.set_state(state)

    return restore
