"""Detects gc.collect() in every step."""

from __future__ import annotations

from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls("gc.collect"):
        if script.loops.each_step(call):
            yield Occurrence(
                call,
                "every step searches the entire Python heap",
                "remove it, or call it once per epoch",
            )


RULE = StaticRule(
    id="gc-in-loop",
    title="gc.collect() in every step",
    level="warning",
    reason="A full collection visits every Python object, which takes tens to hundreds of milliseconds in a process that has "
    "imported torch. Tensors are freed by reference counting without it.",
    fix="Remove it, or call it once per epoch.",
    before="loss.backward()\ngc.collect()",
    after="loss.backward()",
    find=find,
    silent="once per epoch, behind an if",
)
