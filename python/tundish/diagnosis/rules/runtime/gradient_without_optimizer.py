"""Gradients that are computed for parameters which no optimizer has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .runtime_rule import RunningCheck, Seen, some


def find(facts: dict[str, Any]) -> Iterator[Seen]:
    seen = facts["observed"]
    if not seen["unused_gradients"]:
        return
    names = some(seen["unused_gradients"], len(seen["unused_gradients"]))
    share = seen["unused_gradient_elements"] / max(1, seen["parameters"])
    yield Seen(
        f"{names}: a gradient is computed in every step, and no optimizer uses it ({share:.0%} of the parameters)",
        "parameter.requires_grad_(False), or give the parameters to the optimizer",
    )


CHECK = RunningCheck(
    id="gradient-without-optimizer",
    title="gradients are computed that no optimizer uses",
    level="warning",
    why="Backward takes time and memory for frozen parts that still ask for gradients; the gradients also add up for ever, "
    "because the optimizer's zero_grad() does not know them.",
    find=find,
)
