"""Detects models and batches in float64."""

from __future__ import annotations

from collections.abc import Iterator

from ...probe.facts import Facts, ObservedFacts
from .runtime_rule import RuntimeFinding, RuntimeRule


def find(facts: Facts, seen: ObservedFacts) -> Iterator[RuntimeFinding]:
    if "torch.float64" in seen.types:
        yield RuntimeFinding("the model has float64 parameters", "call model.float()")
    elif "torch.float64" in seen.batch_types:
        yield RuntimeFinding(
            "batches contain float64 tensors, which need twice the memory and bandwidth of float32",
            "use torch.as_tensor(x, dtype=torch.float32) in the dataset; NumPy's default is float64",
        )


RULE = RuntimeRule(
    id="double-precision",
    title="the model or the batches use float64",
    level="warning",
    reason="Training GPUs compute float64 at a fraction of the float32 rate, and float64 needs twice the memory. It usually comes from NumPy.",
    find=find,
)
