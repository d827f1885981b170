"""cudnn.benchmark with batches of many shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .runtime_rule import RunningCheck, Seen

MANY = 5


def find(facts: dict[str, Any]) -> Iterator[Seen]:
    seen = facts["observed"]
    on_gpu = (facts["torch"] or {}).get("gpu")
    if on_gpu and seen["cudnn_benchmark"] and seen["shapes"] > MANY:
        yield Seen(
            f"cudnn.benchmark is on, and batches have {seen['shapes']} shapes",
            "torch.backends.cudnn.benchmark = False, or pad batches to a few shapes",
        )


CHECK = RunningCheck(
    id="benchmark-many-shapes",
    title="cudnn.benchmark while shapes change",
    level="warning",
    why="cuDNN tries its algorithms again for every new shape, which takes longer than the best one gains.",
    find=find,
)
