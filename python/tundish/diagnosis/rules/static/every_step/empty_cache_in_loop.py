"""Detects torch.cuda.empty_cache() in every step."""

from __future__ import annotations

from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls("torch.cuda.empty_cache", "torch.cuda.memory.empty_cache"):
        if script.loops.each_step(call):
            yield Occurrence(
                call,
                "memory is returned to the driver in every step and allocated again in the next",
                "remove it: torch reuses its cached memory",
            )


RULE = StaticRule(
    id="empty-cache-in-loop",
    title="empty_cache() in every step",
    level="warning",
    reason="torch keeps freed memory and reuses it at no cost. empty_cache() returns it by cudaFree, which waits for "
    "the GPU, and the next step pays for cudaMalloc. It does not make more memory available to torch.",
    fix="Remove it. If memory runs out, use a smaller batch or activation checkpointing.",
    before="optimizer.step()\ntorch.cuda.empty_cache()",
    after="optimizer.step()",
    find=find,
    only_gpu=True,
    silent="once per epoch, in an except block (after running out of memory), behind an if",
)
