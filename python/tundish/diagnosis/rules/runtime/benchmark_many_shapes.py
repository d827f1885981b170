"""Detects the use of cudnn.benchmark with batches of many shapes."""

from __future__ import annotations

from collections.abc import Iterator

from ...probe.facts import Facts, ObservedFacts
from .runtime_rule import RuntimeFinding, RuntimeRule

MANY = 5


def find(facts: Facts, seen: ObservedFacts) -> Iterator[RuntimeFinding]:
    on_gpu = facts.torch is not None and facts.torch.gpu
    if on_gpu and seen.cudnn_benchmark and seen.shapes > MANY:
        yield RuntimeFinding(
            f"cudnn.benchmark is on, but batches have {seen.shapes} shapes",
            "set torch.backends.cudnn.benchmark = False, or pad batches to a few shapes",
        )


RULE = RuntimeRule(
    id="benchmark-many-shapes",
    title="cudnn.benchmark with changing shapes",
    level="warning",
    reason="cuDNN benchmarks its algorithms again for every new shape, which costs more than the best algorithm saves.",
    find=find,
)
