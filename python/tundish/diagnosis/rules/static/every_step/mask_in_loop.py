"""Detects `x[mask]` with a boolean mask, which calls nonzero() and waits for the GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for node in script.nodes(ast.Subscript):
        if not isinstance(node.ctx, ast.Load) or not _is_mask(script, node.slice):
            continue
        if script.values.is_gpu_tensor(node.value) and script.loops.each_step(node):
            yield Occurrence(
                node,
                f"{script.text(node)} has an unknown size: the CPU waits for the GPU in every step",
                "multiply by the mask or use torch.where; for a mean, divide by mask.sum()",
            )


def _is_mask(script: Script, index: ast.expr) -> bool:
    """Returns whether an index is a comparison of tensors, an inverted one, or a name bound to one."""
    for _ in range(4):
        while isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
            index = index.operand
        if isinstance(index, ast.Compare):
            return script.values.infer(index).kind == "tensor"
        bindings = script.bindings(index)
        if len(bindings) != 1 or bindings[0].how != "assign" or bindings[0].value is None:
            return False
        index = bindings[0].value
    return False


RULE = StaticRule(
    id="mask-in-loop",
    title="a tensor is indexed by a boolean mask in every step",
    level="warning",
    reason="x[mask] counts the true elements before it allocates the result, so the CPU waits for the GPU. The shape "
    "also changes from step to step.",
    fix="Multiply by the mask or use torch.where, and divide by mask.sum(). Writing x[mask] = 0 does not wait.",
    before="loss = per_pixel[labels != 255].mean()",
    after="loss = F.cross_entropy(logits, labels, ignore_index=255)",
    find=find,
    only_gpu=True,
    silent="assignments x[mask] = value, behind an if, in scripts without a GPU",
)
