"""Random numbers of the process: generators that all threads share.

A worker process of torch has its own, seeded by torch. Worker threads draw from those of the training loop: other
numbers than torch's, in an order that depends on timing.
"""

from __future__ import annotations

import pickle
import random
import sys
from typing import Any


def random_states() -> dict[str, bytes]:
    import torch

    states: dict[str, Any] = {"torch": torch.get_rng_state().numpy().tobytes()}
    states["random"] = random.getstate()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states["numpy.random"] = numpy.random.get_state(legacy=False)
    return {name: pickle.dumps(state) for name, state in states.items()}


def drawn_since(before: dict[str, bytes]) -> list[str]:
    """The modules from whose global generators somebody has drawn since."""
    return [name for name, state in random_states().items() if before.get(name, state) != state]
