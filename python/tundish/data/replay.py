"""Recreates a batch of a run from its state, with the plan of each image: what was done to it."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from typing import Any

from .._c.errors import last_error
from .._c.library import lib

# Options that determine the next batch of the saved run; this loader's values may differ.
_AS_SAVED = ("batch_size", "world_size", "uneven", "on_error")
_ALONE = {
    "prefetch": 1,
    "pin_memory": False,
    "trace": None,
    "max_bad": None,
    "memory": None,
    "cache": None,
    "cache_dir": None,
    "cache_dir_limit": None,
    "copy_to": None,
    "device": None,
    "decode": "auto",
    "resident": False,
}


@dataclass(frozen=True)
class Replayed:
    """A batch recreated by Loader.replay(), and a plan for each image: a dict of what was done to it.

    position       global position in the epoch
    sample, label  number of the sample, and its label
    repeat         number of the repetition, if the epoch draws the sample several times
    key            name of the sample, such as its file name
    replaces       bad samples that this sample replaces
    image, size    width and height of the stored image, and of the result
    steps          operations in order

    A step without `op` cuts out the window `crop` [x, y, width, height], resizes it to `size`, keeps the
    window `keep`, then mirrors. docs/resume.md describes the other steps.
    """

    batch: Any
    plans: list[dict[str, Any]]


def replay(path: Any, options: dict[str, Any], state: dict[str, Any], rank: int | None) -> Replayed:
    """Recreates the batch with a separate loader, built like the one that saved the state.

    `options` belong to a loader with the same data, order, seed and transforms. Without `rank`, uses its rank.
    """
    from .loader import Loader

    config = state["run_config"]
    # An option that is missing from the state had its default value.
    as_saved = {"batch_size": 1, "world_size": 1}
    as_saved |= {name: config[name] for name in _AS_SAVED if name in config}
    if "uneven" in as_saved:
        as_saved["drop_last"] = False
    if rank is not None:
        as_saved["rank"] = rank
    built = {**options, **as_saved, **_ALONE}
    if rank is None and not built["rank"] < built["world_size"]:
        raise ValueError(
            f"the state is of a run with {built['world_size']} ranks, and this loader has rank "
            f"{built['rank']}: pass the rank of the batch, replay(state, rank=0)"
        )

    class ReplayLoader(Loader):
        _replays = True

    with ReplayLoader(path, **built) as loader:
        loader.load_state_dict(state)
        plans: list[dict[str, Any]] = []

        def keep_plans(handle: ctypes.c_void_p) -> None:
            text = lib.tundish_batch_plans(loader._engine.open(), handle)
            if text is None:
                raise last_error()
            plans.extend(json.loads(text))

        loader._run.pending.on_batch = keep_plans
        for batch in loader:
            return Replayed(batch, plans)
    raise ValueError(f"the state is at the end of epoch {state['epoch']}: no batch follows")
