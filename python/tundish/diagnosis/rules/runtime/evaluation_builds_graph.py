"""Detects forward passes in a validation that build an autograd graph."""

from __future__ import annotations

from collections.abc import Iterator

from ...probe.facts import Facts, ObservedFacts
from .runtime_rule import RuntimeFinding, RuntimeRule

LEAST_CALLS = 2  # a single call without a backward pass may be the script's last step


def find(facts: Facts, seen: ObservedFacts) -> Iterator[RuntimeFinding]:
    calls = [call for call in seen.modes if call.grad]
    trained = {call.root for call in calls if call.training and call.backward}
    for call in calls:
        if call.root not in trained or call.backward:  # backward: of an attack, for example
            continue
        mode = "evaluation mode"
        if call.training:
            if call.calls < LEAST_CALLS:
                continue
            mode = "training mode without a backward pass"
        yield RuntimeFinding(
            f"{call.calls} forward passes in {mode} build a graph for backward",
            "run the validation under torch.no_grad() or torch.inference_mode()"
            + (", after model.eval()" if call.training else ""),
            call.file,
            call.line,
        )


RULE = RuntimeRule(
    id="evaluation-builds-graph",
    title="a validation without torch.no_grad()",
    level="warning",
    reason="Every activation is kept until the output is freed, which needs the memory of a training step, and time. "
    "A line is reported if no backward pass follows any of its calls of the model.",
    find=find,
)
