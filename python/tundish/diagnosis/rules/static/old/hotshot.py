"""Detects hotshot, a profiler that only Python 2 has."""

from __future__ import annotations

from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for statement, name in script.imported:
        if name.split(".")[0] == "hotshot":
            yield Occurrence(
                statement,
                "hotshot exists only in Python 2",
                "use cProfile for the host, torch.profiler for kernels",
            )


RULE = StaticRule(
    id="hotshot",
    title="hotshot, a profiler of Python 2",
    level="error",
    reason="Python 3.0 removed hotshot, so the import fails.",
    fix="Use cProfile for the host, torch.profiler for kernels.",
    before="import hotshot",
    after="import cProfile",
    find=find,
)
