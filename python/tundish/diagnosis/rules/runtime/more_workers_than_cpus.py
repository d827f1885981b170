"""Detects more worker processes than CPUs."""

from __future__ import annotations

from collections.abc import Iterator

from ...probe.facts import Facts, ObservedFacts
from .runtime_rule import RuntimeFinding, RuntimeRule


def find(facts: Facts, seen: ObservedFacts) -> Iterator[RuntimeFinding]:
    if facts.loader is None:
        return
    workers, cpus, samples = facts.loader.num_workers or 0, facts.cpus, facts.loader.samples
    blocked = samples is not None and samples.blocked_s > samples.sample_s / 2
    if workers > cpus and not blocked:
        yield RuntimeFinding(
            f"{workers} worker processes share {cpus} CPU{'s' if cpus > 1 else ''}",
            f"set num_workers={cpus}",
        )


RULE = RuntimeRule(
    id="more-workers-than-cpus",
    title="more worker processes than CPUs",
    level="warning",
    reason="Workers compete with each other and with the training loop for CPUs, and each holds batches and a copy of the dataset. The CPU "
    "quota of a container counts. Workers that mostly wait for a disk or a network are not reported.",
    find=find,
)
