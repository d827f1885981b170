"""Detects gradient accumulation in which DistributedDataParallel still communicates in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.accumulation import accumulations
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    if not any(True for _ in script.calls("torch.nn.parallel.DistributedDataParallel")):
        return
    names = {node.attr for node in script.nodes(ast.Attribute)}
    if names & {"no_sync", "require_backward_grad_sync", "accumulate"}:
        return
    for found in accumulations(script):
        steps = script.text(found.steps, 30)
        yield Occurrence(
            found.backward,
            f"gradients are sent to all ranks in every step, but used only every {steps} steps",
            "run forward and backward of the other steps under model.no_sync()",
        )


RULE = StaticRule(
    id="accumulation-without-no-sync",
    title="accumulation without no_sync()",
    level="warning",
    reason="DistributedDataParallel averages gradients over all ranks in every backward pass. With accumulation, only the "
    "last of k backward passes needs this.",
    fix="Use with model.no_sync(): around forward and backward of all but the last batch.",
    before="loss.backward()\nif (i + 1) % k == 0:\n    optimizer.step()",
    after="last = (i + 1) % k == 0\nwith nullcontext() if last else model.no_sync():\n"
    "    (loss_fn(model(x), y) / k).backward()\nif last:\n    optimizer.step()",
    find=find,
    silent="scripts that do not wrap a model in DistributedDataParallel themselves",
)
