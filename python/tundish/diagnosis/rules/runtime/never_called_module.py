"""Detects modules with parameters that the training step never calls."""

from __future__ import annotations

from collections.abc import Iterator

from ...probe.facts import Facts, ObservedFacts
from .runtime_rule import RuntimeFinding, RuntimeRule, name_list

LEAST_STEPS = 3


def find(facts: Facts, seen: ObservedFacts) -> Iterator[RuntimeFinding]:
    if seen.never_called and seen.steps >= LEAST_STEPS:
        names = name_list(seen.never_called, seen.never_called_count)
        yield RuntimeFinding(
            f"{names}: never called and without a gradient",
            "remove the module, or call it in forward()",
        )


RULE = RuntimeRule(
    id="never-called-module",
    title="a module with parameters is never called",
    level="warning",
    reason="The unused parameters take memory on the GPU, in the optimizer and in every checkpoint. DistributedDataParallel fails with an "
    "error about parameters without gradients. Modules whose parameters are used without a call have a gradient and are not reported.",
    find=find,
)
