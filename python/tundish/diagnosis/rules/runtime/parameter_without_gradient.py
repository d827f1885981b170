"""Detects parameters that never get a gradient although their module is called."""

from __future__ import annotations

from collections.abc import Iterator

from ...probe.facts import Facts, ObservedFacts
from .runtime_rule import RuntimeFinding, RuntimeRule, name_list

LEAST_STEPS = 3


def find(facts: Facts, seen: ObservedFacts) -> Iterator[RuntimeFinding]:
    if seen.without_gradient and seen.steps >= LEAST_STEPS:
        names = name_list(seen.without_gradient, seen.without_gradient_count)
        yield RuntimeFinding(
            f"{names}: no gradient in any of {seen.steps} steps",
            "call requires_grad_(False) if this is intended; otherwise look for a detach(), a no_grad() or an output that the loss ignores",
        )


RULE = RuntimeRule(
    id="parameter-without-gradient",
    title="a parameter never gets a gradient",
    level="warning",
    reason="The parameter does not learn although it requires a gradient: an output is detached, computed under no_grad(), or not part "
    "of the loss.",
    find=find,
)
