"""Detects nn.DataParallel, which is slower than DistributedDataParallel."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule

_PROCESSES = ("torch.nn.parallel.DistributedDataParallel", "tundish.replace_data_parallel")


def find(script: Script) -> Iterator[Occurrence]:
    calls = list(script.calls("torch.nn.DataParallel"))
    if not calls or script.source.cells or _offers_processes(script) or not _trains(script):
        return
    for call in calls:
        yield Occurrence(
            call,
            "DataParallel copies the model to every GPU in each step, driven by one Python process",
            "use tundish.replace_data_parallel(model) and tundish run train.py (docs/launch.md)",
        )


def _offers_processes(script: Script) -> bool:
    """Returns whether the script can also run one process per GPU.

    The user of such a script has chosen DataParallel.
    """
    if any(True for _ in script.calls(*_PROCESSES)):
        return True
    return any(name.split(".")[0] == "accelerate" for _, name in script.imported)


def _trains(script: Script) -> bool:
    """Returns whether the script trains, because DistributedDataParallel does not help evaluation."""
    if script.loops.backward_calls or script.loops.step_calls:
        return True
    return any(script.values.infer(call).kind == "optimizer" for call in script.nodes(ast.Call))


RULE = StaticRule(
    id="data-parallel",
    title="nn.DataParallel instead of DistributedDataParallel",
    level="warning",
    reason="In each step, one process copies the model to all GPUs, splits the batch, and collects outputs and gradients "
    "on the first GPU. DistributedDataParallel runs one process per GPU and overlaps an all-reduce with the backward pass.",
    fix="Use DistributedDataParallel with one process per GPU: docs/launch.md. torch recommends it even on one machine.",
    before="model = nn.DataParallel(model).cuda()",
    after="model = nn.parallel.DistributedDataParallel(model.cuda(local_rank))  # tundish run train.py",
    find=find,
    silent="scripts that also create a DistributedDataParallel, replace the DataParallel or use Accelerate, and thus leave the choice to their user; scripts "
    "that do not train; notebooks, which run in one process",
)
