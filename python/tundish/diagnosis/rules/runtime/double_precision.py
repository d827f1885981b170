"""Models and batches in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .runtime_rule import RunningCheck, Seen


def find(facts: dict[str, Any]) -> Iterator[Seen]:
    seen = facts["observed"]
    if "torch.float64" in seen["types"]:
        yield Seen("the model has parameters in float64", "model.float()")
    elif "torch.float64" in seen["batch_types"]:
        yield Seen(
            "batches have float64 tensors, which take twice the memory and copies of float32",
            "torch.as_tensor(x, dtype=torch.float32) in the data set: NumPy's default is float64",
        )


CHECK = RunningCheck(
    id="double-precision",
    title="the model or its batches are in float64",
    level="warning",
    why="GPUs for training compute float64 at a fraction of the rate of float32, and it takes twice the memory. It mostly comes from NumPy.",
    find=find,
)
