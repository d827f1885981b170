"""Forward passes in evaluation mode that keep what backward would need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .check import RunningCheck, Seen


def find(facts: dict[str, Any]) -> Iterator[Seen]:
    modes = facts["observed"]["modes"]
    trained = {one["root"] for one in modes if one["training"] and one["grad"]}
    for one in modes:
        if one["root"] in trained and one["grad"] and not one["training"]:
            yield Seen(
                f"{one['calls']} forward passes in evaluation mode build a graph for backward",
                "with torch.no_grad(): around the validation, or torch.inference_mode()",
                one["file"],
                one["line"],
            )


CHECK = RunningCheck(
    id="evaluation-builds-graph",
    title="a validation without torch.no_grad()",
    level="warning",
    why="Every activation is kept until the output goes, which takes the memory of a training step, and time.",
    find=find,
)
