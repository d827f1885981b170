"""hotshot, a profiler of Python 2."""

from __future__ import annotations

from collections.abc import Iterator

from ....lint.script import Script
from ..static_rule import Check, Found


def find(script: Script) -> Iterator[Found]:
    for statement, name in script.imported:
        if name.split(".")[0] == "hotshot":
            yield Found(
                statement,
                "hotshot was a module of Python 2",
                "cProfile for the host, torch.profiler for kernels",
            )


CHECK = Check(
    id="hotshot",
    title="hotshot, a profiler of Python 2",
    level="error",
    why="hotshot left Python with version 3.0; the import fails.",
    remedy="cProfile for the host, torch.profiler for kernels.",
    before="import hotshot",
    after="import cProfile",
    find=find,
)
