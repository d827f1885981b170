"""Detects workers that are restarted in every epoch."""

from __future__ import annotations

from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, is_literal
from ....script.changed_data import changes_between_epochs
from ....script.loaders import is_iterated_per_epoch, loader_calls
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for loader in loader_calls(script):
        workers = script.constant(argument(loader, "num_workers", 5))
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            continue
        persistent = argument(loader, "persistent_workers")
        if persistent is not None and not is_literal(persistent, False):
            continue
        if is_iterated_per_epoch(script, loader) and not changes_between_epochs(script, loader):
            yield Occurrence(
                loader,
                f"{workers} worker process{'es are' if workers > 1 else ' is'} restarted in every epoch",
                "DataLoader(..., persistent_workers=True)",
            )


RULE = StaticRule(
    id="missing-persistent-workers",
    title="worker processes are restarted in every epoch",
    level="warning",
    reason="Training waits while processes start, receive the dataset and fill their queues. Spawned processes also "
    "import torch again.",
    fix="persistent_workers=True keeps the workers. A dataset that changes between epochs needs new workers.",
    before="loader = DataLoader(dataset, batch_size=64, num_workers=8)\n"
    "for epoch in range(90):\n    for x, y in loader:\n        ...",
    after="loader = DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True)",
    find=find,
    silent="loaders that are iterated once; datasets whose transforms or variables the script changes between epochs; "
    "num_workers from a variable (it may be 0)",
)
