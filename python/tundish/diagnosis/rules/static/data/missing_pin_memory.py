"""Detects batches that are copied to the GPU from unpinned memory."""

from __future__ import annotations

from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.call_arguments import argument, is_literal
from ....lint.script.loaders import copies_to_gpu, loader_calls, loops_over
from ..static_rule import Check, Found


def find(script: Script) -> Iterator[Found]:
    if script.methods("pin_memory"):
        return
    for loader in loader_calls(script):
        pinned = argument(loader, "pin_memory")
        if pinned is not None and not is_literal(pinned, False):
            continue
        copies = copies_to_gpu(script, loader)
        trains = any(
            any(loop is training for training in script.loops.training)
            for loop in loops_over(script, loader)
        )
        if not copies or not trains:
            continue
        if any(argument(copy, "non_blocking") is not None for copy in copies):
            continue  # reported by pageable-non-blocking
        yield Found(
            loader,
            f"batches of this loader are copied to the GPU ({script.line_text(copies[0])}) from unpinned memory",
            "DataLoader(..., pin_memory=True), and non_blocking=True in the copy",
        )


CHECK = Check(
    id="missing-pin-memory",
    title="a training loader without pin_memory=True",
    level="warning",
    why="From pinned memory, the GPU copies a batch at the full PCIe rate while other work continues.",
    remedy="Set pin_memory=True in the DataLoader and non_blocking=True in the copy.",
    before="loader = DataLoader(dataset, batch_size=64)\nfor x, y in loader:\n    x = x.to(device)",
    after="loader = DataLoader(dataset, batch_size=64, pin_memory=True)\n"
    "for x, y in loader:\n    x = x.to(device, non_blocking=True)",
    find=find,
    only_gpu=True,
    silent="loaders whose batches this script does not copy to a GPU, or whose arguments are partly unknown",
)
