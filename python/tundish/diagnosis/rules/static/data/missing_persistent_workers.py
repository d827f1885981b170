"""Workers that are started again in every epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.call_arguments import argument, is_literal
from ....lint.script.loaders import is_repeated, loader_calls
from ....lint.script.names import written
from ..static_rule import Check, Found


def find(script: Script) -> Iterator[Found]:
    for loader in loader_calls(script):
        workers = script.constant(argument(loader, "num_workers", 5))
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            continue
        persistent = argument(loader, "persistent_workers")
        if persistent is not None and not is_literal(persistent, False):
            continue
        if is_repeated(script, loader) and not _changes(script, argument(loader, "dataset", 0)):
            yield Found(
                loader,
                f"{workers} worker process{'es are' if workers > 1 else ' is'} started and ended in every epoch",
                "DataLoader(..., persistent_workers=True)",
            )


def _changes(script: Script, dataset: ast.expr | None) -> bool:
    """`dataset.set_epoch(3)`, `dataset.length = 3`: workers that stay would not see it."""
    name = written(dataset) if dataset is not None else ""
    if not name:
        return False
    assigned = any(key.startswith(f"{name}.") for _, key in script.attributes)
    told = any(written(call.func).startswith(f"{name}.") for call in script.methods("set_epoch"))
    return assigned or told


CHECK = Check(
    id="missing-persistent-workers",
    title="worker processes are started again in every epoch",
    level="warning",
    why="Training waits while processes start, get the data set and fill their queues. Where processes are spawned "
    "each also imports torch again.",
    remedy="persistent_workers=True keeps the workers. A data set that changes itself between epochs needs new ones.",
    before="loader = DataLoader(dataset, batch_size=64, num_workers=8)\n"
    "for epoch in range(90):\n    for x, y in loader:\n        ...",
    after="loader = DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True)",
    find=find,
    silent="loaders that are iterated once, data sets that the script changes between epochs, num_workers from a variable (it may be 0)",
)
