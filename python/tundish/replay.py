"""A batch of a run made again from its state, and what was done to each of its images."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from typing import Any

from ._library import last_error, lib


@dataclass(frozen=True)
class Replayed:
    """A batch as the loader gave it, and the plan of each of its images.

    A plan: position (global, in the epoch), sample, repeat, key, label, replaces (bad samples it
    stands in for), image (width and height as stored), size (of the result), stages (each cuts
    `crop` [x, y, width, height], resizes it to `size`, keeps the window `keep`, then mirrors).
    """

    batch: Any
    plans: list[dict[str, Any]]


def replay(config: dict[str, Any], state: dict[str, Any]) -> Replayed:
    """With a loader of its own, built like the first."""
    from .loader import Loader

    alone = {"prefetch": 1, "pin_memory": False, "trace": None, "max_bad": None}
    with Loader(**{**config, **alone}) as loader:
        loader.load_state_dict(state)
        plans: list[dict[str, Any]] = []

        def keep_plans(handle: ctypes.c_void_p) -> None:
            text = lib.tundish_batch_plans(loader._open(), handle)
            if text is None:
                raise last_error()
            plans.extend(json.loads(text))

        loader._on_batch = keep_plans
        for batch in loader:
            return Replayed(batch, plans)
    raise ValueError(
        f"the state stands at the end of epoch {state['epoch']}: no batch follows in it"
    )
