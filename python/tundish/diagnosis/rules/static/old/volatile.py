"""Detects the argument volatile=True, which torch ignores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.names import written
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.nodes(ast.Call):
        last = written(call.func).rpartition(".")[2]
        for keyword in call.keywords:
            if keyword.arg == "volatile" and (
                last == "Variable" or script.values.infer(call).kind == "tensor"
            ):
                yield Occurrence(
                    keyword,
                    "volatile=True has no effect since torch 0.4: the graph is recorded",
                    "run the evaluation under torch.no_grad()",
                )


RULE = StaticRule(
    id="volatile",
    title="volatile=True, which torch ignores",
    level="error",
    reason="volatile once disabled the recording of gradients. Since torch 0.4 it is ignored, so evaluation needs "
    "as much memory as training.",
    fix="Use with torch.no_grad():",
    before="x = Variable(x, volatile=True)",
    after="with torch.no_grad():\n    y = model(x)",
    find=find,
)
