"""Detects Python loops over the rows of a batch, which launch kernels for every row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.names import written
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls("torch.stack", "torch.cat"):
        rows = call.args[0] if call.args else None
        if isinstance(rows, ast.ListComp | ast.GeneratorExp) and len(rows.generators) == 1:
            tensor = _iterated_tensor(script, rows.generators[0])
            if tensor and _is_torch_work(script, rows.elt) and script.loops.each_step(call):
                yield Occurrence(
                    call,
                    f"a Python loop launches kernels for each row of {tensor}",
                    "use one operation on the whole batch: most accept dim=; otherwise torch.vmap",
                )


def _iterated_tensor(script: Script, loop: ast.comprehension) -> str:
    """Returns the tensor x in `for row in x`, `for i in range(len(x))` or `range(x.shape[0])`."""
    if loop.ifs or not isinstance(loop.target, ast.Name):
        return ""
    counted = loop.iter
    if (
        isinstance(counted, ast.Call)
        and script.name(counted.func) == "range"
        and len(counted.args) == 1
    ):
        size = counted.args[0]
        tensor: ast.expr | None = None
        if isinstance(size, ast.Call) and script.name(size.func) == "len" and size.args:
            tensor = size.args[0]
        elif isinstance(size, ast.Call) and isinstance(size.func, ast.Attribute):
            tensor = size.func.value if size.func.attr == "size" and _is_zero(size.args) else None
        elif isinstance(size, ast.Subscript) and isinstance(size.value, ast.Attribute):
            tensor = (
                size.value.value if size.value.attr == "shape" and _is_zero([size.slice]) else None
            )
        counted = tensor if tensor is not None else counted
    name = written(counted)
    return name if name and script.values.infer(counted).kind == "tensor" else ""


def _is_zero(arguments: list[ast.expr]) -> bool:
    first = arguments[0] if len(arguments) == 1 else None
    return isinstance(first, ast.Constant) and first.value == 0


def _is_torch_work(script: Script, element: ast.expr) -> bool:
    """Returns whether the element expression calls torch functions but no model."""
    calls = [node for node in ast.walk(element) if isinstance(node, ast.Call)]
    if any(script.values.infer(call.func).kind == "model" for call in calls):
        return False
    return any(script.name(call.func).startswith("torch.") for call in calls)


RULE = StaticRule(
    id="small-tensor-loop",
    title="a Python loop over the rows of a batch",
    level="warning",
    reason="A loop over 256 rows launches 256 times as many kernels, each of which uses a small part of the GPU. "
    "A launch costs microseconds of CPU time, however small the tensor is.",
    fix="Write the operation for the whole batch (dim=, broadcasting, einsum), or use torch.vmap.",
    before="y = torch.stack([torch.softmax(x[i], 0) for i in range(len(x))])",
    after="y = torch.softmax(x, 1)",
    find=find,
    silent="loops that carry state between rows, loops over modules, loops with a condition",
)
