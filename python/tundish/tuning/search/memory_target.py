"""Adds gradient checkpointing to the winner until the step fits into the memory limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tricks.checkpointing import Checkpointing
from .rows import Variant
from .variants import in_variant

if TYPE_CHECKING:
    from .search import Search


def fit_memory(search: Search) -> None:
    if not search.target_bytes or fits(search, search.winner):
        return
    search.progress("memory")
    plain, aim = search.winner, search.target_bytes
    for _ in range(3):
        blocks = search.pool.call(
            f"blocks {aim}",
            "tundish.tuning.memory.recompute:choose_for_peak",
            source=search.gates.source,
            seed=search.gates.seed,
            peak_bytes=peak(search, plain),
            target_bytes=aim,
        )
        candidate = in_variant([*plain, Checkpointing(tuple(blocks))]) if blocks else plain
        if candidate == plain:
            break
        search.try_beside_winner([candidate], "memory")
        if candidate in search.measured and search.passes(candidate):
            search.winner = candidate
            if fits(search, candidate):
                return
        aim = int(0.8 * aim)
    gb = peak(search, search.winner) / 2**30
    search.notes.append(f"the memory target was not reached; the lowest peak found is {gb:.1f} GB")


def peak(search: Search, variant: Variant) -> int:
    found = search.measured.get(variant)
    return (found.peak_bytes if found else search.facts.peak_bytes) or 0


def fits(search: Search, variant: Variant) -> bool:
    return peak(search, variant) <= search.target_bytes
