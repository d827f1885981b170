"""Detects a DistributedSampler without set_epoch(), which uses the same order in every epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, has_unknown_arguments, is_literal
from ....script.loaders import is_iterated_per_epoch, loader_calls, origins
from ....script.names import written
from ..static_rule import Occurrence, StaticRule

_SAMPLERS = (
    "torch.utils.data.DistributedSampler",
    "torch.utils.data.distributed.DistributedSampler",
)


def find(script: Script) -> Iterator[Occurrence]:
    if _sets_epoch(script):
        return
    for loader in loader_calls(script):
        for made in origins(script, argument(loader, "sampler", 3)):
            if script.name(made.func) not in _SAMPLERS or has_unknown_arguments(made):
                continue
            if not is_literal(argument(made, "shuffle", 3), False) and is_iterated_per_epoch(
                script, loader
            ):
                yield Occurrence(
                    made,
                    "without set_epoch(epoch), every epoch has the same order",
                    "call sampler.set_epoch(epoch) at the beginning of each epoch",
                )


def _sets_epoch(script: Script) -> bool:
    """Returns whether the script mentions set_epoch or assigns to the `epoch` attribute of an object."""
    for node in script.nodes(ast.Attribute):
        assigned = node.attr == "epoch" and isinstance(node.ctx, ast.Store)
        if node.attr == "set_epoch" or (assigned and written(node.value) != "self"):
            return True
    return any(text.value == "set_epoch" for text in script.nodes(ast.Constant))


RULE = StaticRule(
    id="sampler-without-set-epoch",
    title="DistributedSampler shuffles once",
    level="error",
    reason="DistributedSampler derives its order from the seed and the epoch set by set_epoch(). Without the call, "
    "the epoch is always 0, so batches repeat.",
    fix="Call sampler.set_epoch(epoch) at the beginning of each epoch.",
    before="sampler = DistributedSampler(dataset)\nfor epoch in range(90):\n    for x, y in loader:\n        ...",
    after="for epoch in range(90):\n    sampler.set_epoch(epoch)\n    for x, y in loader:\n        ...",
    find=find,
    silent="with shuffle=False; if Lightning or Accelerate call set_epoch(); if the script mentions "
    "set_epoch anywhere or assigns sampler.epoch",
)
