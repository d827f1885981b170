"""Forward passes of a validation that keep what backward would need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .runtime_rule import RunningCheck, Seen

LEAST_CALLS = 2  # one call without a backward pass may be the last one of a script


def find(facts: dict[str, Any]) -> Iterator[Seen]:
    calls = [one for one in facts["observed"]["modes"] if one["grad"]]
    trained = {one["root"] for one in calls if one["training"] and one["backward"]}
    for one in calls:
        if one["root"] not in trained or (one["training"] and one["backward"]):
            continue
        mode = "evaluation mode"
        if one["training"]:
            if one["calls"] < LEAST_CALLS:
                continue
            mode = "training mode that no backward pass follows"
        yield Seen(
            f"{one['calls']} forward passes in {mode} build a graph for backward",
            "with torch.no_grad(): around the validation, or torch.inference_mode()"
            + ("; model.eval() before it" if one["training"] else ""),
            one["file"],
            one["line"],
        )


CHECK = RunningCheck(
    id="evaluation-builds-graph",
    title="a validation without torch.no_grad()",
    level="warning",
    why="Every activation is kept until the output goes, which takes the memory of a training step, and time. "
    "A line counts that calls the model in evaluation mode, or in training mode without a backward pass after any of its calls.",
    find=find,
)
