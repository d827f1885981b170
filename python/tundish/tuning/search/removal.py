"""Removes the tricks that the winner does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tricks import Trick
from .variants import without

if TYPE_CHECKING:
    from .search import Search


def remove_needless(search: Search) -> None:
    """Times the winner without each of its tricks. Removes the tricks without which it is as fast."""
    if search.quick or len(search.winner) < 2 or not search.has_time_for(40):
        return
    search.progress("removing tricks")
    removable = [trick for trick in search.winner if _cheap_to_remove(search, trick)]
    candidates = [without(search.winner, trick) for trick in removable]
    search.try_beside_winner(candidates, "removal")
    needless = [
        trick
        for trick, candidate in zip(removable, candidates)
        if not search.is_faster(search.winner, candidate)
    ]
    if len(needless) > 1:
        simpler = tuple(trick for trick in search.winner if trick not in needless)
        search.try_beside_winner([simpler], "removal")
        candidates.append(simpler)
    search.settle([search.winner, *candidates])


def _cheap_to_remove(search: Search, trick: Trick) -> bool:
    """Returns False if a step without the trick needs a new compilation, although the answer is known."""
    compiled = any(other.name == "compile" for other in search.winner)
    return not (compiled and trick.name in ("bf16", "fp16", "channels_last"))
