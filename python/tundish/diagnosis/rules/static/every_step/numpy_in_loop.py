"""Detects NumPy functions that are called on GPU tensors in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.timing import timed_step_note
from ..static_rule import Occurrence, StaticRule

# NumPy functions that have the same meaning in torch. Excludes std and var, where torch divides by n - 1.
_SAME: tuple[str, ...] = (
    "abs",
    "argmax",
    "argmin",
    "argsort",
    "clip",
    "cos",
    "cumsum",
    "dot",
    "exp",
    "isfinite",
)
_SAME += ("isnan", "log", "matmul", "maximum", "mean", "minimum", "prod", "sign", "sin", "sqrt")
_SAME += ("square", "stack", "sum", "tanh")
_IN_TORCH = {name: name for name in _SAME} | {"max": "amax", "min": "amin", "concatenate": "cat"}


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls("numpy."):
        tensor = next((arg for arg in call.args if _comes_from_gpu(script, arg)), None)
        if tensor is None or not script.loops.waits_each_step(call):
            continue
        if _inside_numpy(script, call):
            continue
        name = script.name(call.func).removeprefix("numpy.")
        yield Occurrence(
            call,
            f"np.{name} works on the CPU: the tensor is copied and the GPU waits in every step",
            _remedy(name) + timed_step_note(script, call),
        )


def _remedy(name: str) -> str:
    """Suggests the torch function of the same name, if there is one."""
    if name in _IN_TORCH:
        return f"use torch on the GPU: torch.{_IN_TORCH[name]}(...) or the tensor method"
    return "keep the tensor on the GPU with .detach() and convert once after the loop"


def _comes_from_gpu(script: Script, expression: ast.expr) -> bool:
    """Recognizes method chains on a GPU tensor: x, x.cpu().numpy(), x.detach().cpu()."""
    if isinstance(expression, ast.Compare | ast.BinOp):
        expression = expression.left
    for _ in range(8):
        if script.values.is_gpu_tensor(expression):
            return True
        if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
            expression = expression.func.value
        elif isinstance(expression, ast.Subscript):
            expression = expression.value
        else:
            return False
    return False


def _inside_numpy(script: Script, call: ast.Call) -> bool:
    return any(
        isinstance(ancestor, ast.Call) and script.name(ancestor.func).startswith("numpy.")
        for ancestor in script.ancestors(call)
    )


RULE = StaticRule(
    id="numpy-in-loop",
    title="NumPy computes what the GPU could",
    level="warning",
    reason="Each call copies the tensor to the CPU, waits for the GPU, and leaves the GPU idle.",
    fix="Use the torch function of the same name, on the GPU.",
    before="top = np.argmax(logits.detach().cpu().numpy(), axis=1)",
    after="top = logits.argmax(dim=1)",
    find=find,
    only_gpu=True,
    silent="behind an if, in validation loops, for data that was never on the GPU",
)
