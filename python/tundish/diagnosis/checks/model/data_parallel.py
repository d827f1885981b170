"""nn.DataParallel."""

from __future__ import annotations

from collections.abc import Iterator

from ...script import Script
from ..check import Check, Found


def find(script: Script) -> Iterator[Found]:
    for call in script.calls("torch.nn.DataParallel"):
        yield Found(
            call,
            "DataParallel copies the model to every GPU in each step, driven by one Python process",
            "tundish.replace_data_parallel(model) and tundish run train.py (docs/launch.md)",
        )


CHECK = Check(
    id="data-parallel",
    title="nn.DataParallel instead of DistributedDataParallel",
    level="warning",
    why="In each step one process copies the model to all GPUs, splits the batch, and collects outputs and gradients "
    "on the first GPU. DistributedDataParallel has a process per GPU and overlaps one all-reduce with the backward pass.",
    remedy="DistributedDataParallel, one process per GPU: docs/launch.md. torch advises it also on one machine.",
    before="model = nn.DataParallel(model).cuda()",
    after="model = nn.parallel.DistributedDataParallel(model.cuda(local_rank))  # tundish run train.py",
    find=find,
)
