"""Detects torch.cuda.synchronize() in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule

_NAMES = ("torch.cuda.synchronize", "torch.accelerator.synchronize")


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls(*_NAMES):
        region = script.loops.each_step(call)
        if region is not None and not _measures_time(script, region):
            yield Occurrence(
                call,
                "the CPU waits for the GPU in every step",
                "remove it: torch waits automatically when a result is needed",
            )


def _measures_time(script: Script, region: ast.AST) -> bool:
    """Returns whether the loop measures time, which requires synchronization."""
    return any(
        script.name(call.func).startswith(("time.", "timeit."))
        or "elapsed_time" in script.text(call.func)
        for call in script.inside(region, ast.Call)
    )


RULE = StaticRule(
    id="synchronize-in-loop",
    title="the CPU waits for the GPU in every step",
    level="warning",
    reason="The CPU queues steps ahead of the GPU. torch.cuda.synchronize() drains this queue, and the GPU is idle until "
    "the CPU has launched new work.",
    fix="Remove it. It is needed only around time measurements.",
    before="optimizer.step()\ntorch.cuda.synchronize()",
    after="optimizer.step()",
    find=find,
    only_gpu=True,
    silent="loops that measure time, behind an if",
)
