"""Detects the use of apex.amp, which no longer exists."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule

_REMOVED = ("apex.amp", "apex.parallel", "apex.fp16_utils", "apex.RNN", "apex.reparameterization")


def find(script: Script) -> Iterator[Occurrence]:
    for statement, name in script.imported:
        optional = any(isinstance(ancestor, ast.Try) for ancestor in script.ancestors(statement))
        if not optional and any(f"{name}.".startswith(f"{removed}.") for removed in _REMOVED):
            yield Occurrence(
                statement,
                f"{name} was removed from Apex in May 2025",
                _remedy(name),
            )


def _remedy(name: str) -> str:
    """Returns the replacement in torch. Apex's level O1 was fp16 with a scaled loss."""
    if name.startswith("apex.parallel"):
        return "use torch.nn.parallel.DistributedDataParallel, torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)"
    if name.startswith(("apex.amp", "apex.fp16_utils")):
        return 'use torch.autocast("cuda", torch.float16) with torch.amp.GradScaler("cuda"); with torch.bfloat16, no scaler is needed'
    return "use the same layers of torch.nn"


RULE = StaticRule(
    id="apex-amp",
    title="a part of Apex that was removed",
    level="warning",
    reason="Apex removed amp, its DistributedDataParallel, SyncBatchNorm and LARC in May 2025. torch has replacements for all but LARC "
    "since 1.6, and tundish.optim.LARS is a fused LARS.",
    fix="Use torch.autocast and torch.amp.GradScaler, and torch's DistributedDataParallel and SyncBatchNorm.",
    before='from apex import amp\n\nmodel, optimizer = amp.initialize(model, optimizer, opt_level="O1")',
    after='with torch.autocast("cuda", torch.bfloat16):\n    loss = loss_fn(model(x), y)',
    find=find,
    silent="imports inside a try block; apex.optimizers and apex.normalization, which still exist",
)
