"""`.data` of a tensor that autograd knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ..check import Check, Found


def find(script: Script) -> Iterator[Found]:
    for node in script.nodes(ast.Attribute):
        if node.attr != "data" or not isinstance(node.ctx, ast.Load):
            continue
        owner = script.values.of(node.value)
        parent = script.parents.get(node)
        if owner.kind != "tensor" or _is_parameter(node.value):
            continue
        if (
            isinstance(parent, ast.Subscript)
            and isinstance(parent.slice, ast.Constant)
            and parent.slice.value == 0
        ):
            remedy = (
                f"{script.text(node.value, 24)}.item(): [0] of a scalar is an error since torch 0.5"
            )
        else:
            remedy = f"{script.text(node.value, 24)}.detach()"
        yield Found(
            node,
            ".data hides changes from autograd: one in place would give wrong gradients",
            remedy,
        )


def _is_parameter(owner: ast.expr) -> bool:
    """Weights in place, as initialisation and averaging change them: no finding."""
    return isinstance(owner, ast.Attribute) and owner.attr in ("weight", "bias", "grad")


CHECK = Check(
    id="tensor-data",
    title=".data instead of .detach()",
    level="warning",
    why=".data is the tensor of torch 0.3. Unlike .detach() it does not tell autograd when values change in place.",
    remedy=".detach(), or with torch.no_grad():",
    before="prediction = output.data.max(1)[1]",
    after="prediction = output.detach().argmax(1)",
    find=find,
    silent="parameters (weight.data, p.data) and attributes of other objects",
)
