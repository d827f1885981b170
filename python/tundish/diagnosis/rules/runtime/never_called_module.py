"""Modules with parameters that the training step never calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .runtime_rule import RunningCheck, Seen, some

LEAST_STEPS = 3


def find(facts: dict[str, Any]) -> Iterator[Seen]:
    seen = facts["observed"]
    if seen["never_called"] and seen["steps"] >= LEAST_STEPS:
        names = some(seen["never_called"], seen["never_called_count"])
        yield Seen(
            f"{names}: never called, and without a gradient", "remove it, or call it in forward()"
        )


CHECK = RunningCheck(
    id="never-called-module",
    title="a module with parameters is never called",
    level="warning",
    why="Its parameters take memory on the GPU, in the optimizer and in every checkpoint. DistributedDataParallel stops with an "
    "error about parameters that got no gradient. Modules whose parameters are used without a call get a gradient, and are not meant.",
    find=find,
)
