"""Detects copies with non_blocking=True from memory that is not pinned."""

from __future__ import annotations

from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, is_literal
from ....script.loaders import copies_to_gpu, loader_calls
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    if script.methods("pin_memory"):
        return
    for loader in loader_calls(script):
        pinned = argument(loader, "pin_memory")
        if pinned is not None and not is_literal(pinned, False):
            continue
        for copy in copies_to_gpu(script, loader):
            if is_literal(argument(copy, "non_blocking"), True):
                yield Occurrence(
                    copy,
                    f"non_blocking=True has no effect: the loader of {script.line_text(loader)} does not pin its memory",
                    "DataLoader(..., pin_memory=True)",
                )


RULE = StaticRule(
    id="pageable-non-blocking",
    title="non_blocking=True without pin_memory=True",
    level="warning",
    reason="Only copies from pinned memory are asynchronous. From pageable memory, the CPU first copies into a "
    "pinned buffer of the driver and waits.",
    fix="Add pin_memory=True to the DataLoader.",
    before="loader = DataLoader(dataset, batch_size=64)\n"
    "for x, y in loader:\n    x = x.to(device, non_blocking=True)",
    after="loader = DataLoader(dataset, batch_size=64, pin_memory=True)",
    find=find,
    only_gpu=True,
    silent="loaders that are created in another file or with **options",
)
