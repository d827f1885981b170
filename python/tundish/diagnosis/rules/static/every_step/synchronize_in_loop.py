"""torch.cuda.synchronize() in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ..static_rule import Check, Found

_NAMES = ("torch.cuda.synchronize", "torch.accelerator.synchronize")


def find(script: Script) -> Iterator[Found]:
    for call in script.calls(*_NAMES):
        region = script.loops.each_step(call)
        if region is not None and not _times(script, region):
            yield Found(
                call,
                "the CPU waits for the GPU in every step",
                "remove it: torch waits by itself where a result is needed",
            )


def _times(script: Script, region: ast.AST) -> bool:
    """A loop that is timed needs it."""
    return any(
        script.name(call.func).startswith(("time.", "timeit."))
        or "elapsed_time" in script.text(call.func)
        for call in script.inside(region, ast.Call)
    )


CHECK = Check(
    id="synchronize-in-loop",
    title="the GPU is waited for in every step",
    level="warning",
    why="Steps are queued ahead of the GPU; torch.cuda.synchronize() empties that queue, and the GPU is idle until "
    "the CPU has launched new work.",
    remedy="Remove it. It belongs around a measured time only.",
    before="optimizer.step()\ntorch.cuda.synchronize()",
    after="optimizer.step()",
    find=find,
    only_gpu=True,
    silent="loops that measure time, behind an if",
)
