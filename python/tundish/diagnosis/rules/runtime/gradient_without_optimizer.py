"""Detects gradients of parameters that are in no optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from ...probe.facts import Facts, ObservedFacts
from .runtime_rule import RuntimeFinding, RuntimeRule, name_list


def find(facts: Facts, seen: ObservedFacts) -> Iterator[RuntimeFinding]:
    if not seen.unused_gradients:
        return
    names = name_list(seen.unused_gradients, len(seen.unused_gradients))
    share = seen.unused_gradient_elements / max(1, seen.parameters)
    yield RuntimeFinding(
        f"{names}: a gradient is computed in every step, but no optimizer uses it ({share:.0%} of the parameters)",
        "call parameter.requires_grad_(False), or pass the parameters to the optimizer",
    )


RULE = RuntimeRule(
    id="gradient-without-optimizer",
    title="gradients that no optimizer uses",
    level="warning",
    reason="Backward spends time and memory on frozen parameters that still require gradients. These gradients also accumulate without limit, "
    "because the optimizer's zero_grad() does not clear them.",
    find=find,
)
