"""Detects time measurements that end before the GPU has finished."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.libraries import target_device
from ....script.names import written
from ....script.timing import Span, spans
from ..static_rule import Occurrence, StaticRule

_WAITS: tuple[str, ...] = (
    "item",
    "tolist",
    "cpu",
    "numpy",
    "synchronize",
    "elapsed_time",
    "wait",
    "wait_for_everyone",
)
_WAITS += ("barrier", "sync", "block_until_ready")
_WAITS += ("is_nonzero", "nonzero", "equal", "allclose", "format")
_WAITING_FUNCTIONS = ("float", "int", "bool", "str", "repr", "print", "torch.save")


def find(script: Script) -> Iterator[Occurrence]:
    if not script.values.uses_gpu:
        return
    for span in spans(script):
        if any(_waits(script, call) for call in span.calls) or _reads_tensor(script, span):
            continue
        work = next((call for call in span.calls if _is_gpu_work(script, call, span.end)), None)
        if work is not None:
            yield Occurrence(
                span.end,
                f"the measured time ends when {script.text(work.func)} is queued, not when the GPU has finished it",
                "call torch.cuda.synchronize() before each reading of the clock, or use torch.cuda.Event",
            )


def _waits(script: Script, call: ast.Call) -> bool:
    last = call.func.attr if isinstance(call.func, ast.Attribute) else written(call.func)
    if any(name in last.lower() for name in _WAITS):
        return True
    if script.name(call.func) in _WAITING_FUNCTIONS or target_device(script, call) == "cpu":
        return True
    # A function defined in the script may wait, and functions that receive the loss often do.
    return isinstance(script.definition(call.func), ast.FunctionDef | ast.AsyncFunctionDef)


def _reads_tensor(script: Script, span: Span) -> bool:
    """Returns whether a condition or a formatted string reads a value from the GPU."""
    tested: list[ast.expr] = []
    for kind in (ast.If, ast.While, ast.Assert, ast.IfExp):
        tested += [getattr(node, "test") for node in span.nodes(script, kind)]  # noqa: B009
    for choice in span.nodes(script, ast.BoolOp):
        tested += choice.values
    for negated in span.nodes(script, ast.UnaryOp):
        tested += [negated.operand] if isinstance(negated.op, ast.Not) else []
    for text in span.nodes(script, ast.JoinedStr):
        tested += [part.value for part in text.values if isinstance(part, ast.FormattedValue)]
    for formatted in span.nodes(script, ast.BinOp):
        if isinstance(formatted.op, ast.Mod) and isinstance(script.constant(formatted.left), str):
            tested += getattr(formatted.right, "elts", [formatted.right])
    values = [script.values.infer(expression) for expression in tested]
    return any(value.kind == "tensor" and value.device != "cpu" for value in values)


def _is_gpu_work(script: Script, call: ast.Call, end: ast.AST) -> bool:
    """Returns whether a call is a model call or a backward pass in the same loop as the clock.

    If the clock measures a whole epoch, the few steps that are still queued do not matter.
    """
    last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if last != "backward":
        if not isinstance(call.func, ast.Name | ast.Attribute):
            return False
        called = script.values.infer(call.func)
        if called.kind != "model" or called.device == "cpu":
            return False
    around = script.loops_around(call)
    own = script.loops_around(end)
    extra = [loop for loop in around if not any(loop is other for other in own)]
    return not any(script.loops.over_loader(loop) for loop in extra)


RULE = StaticRule(
    id="timing-without-sync",
    title="GPU work is timed without synchronizing",
    level="error",
    reason="Calls return when their kernels are queued, so the clock measures the launch time only. The remaining "
    "time is attributed to the next operation that waits for the GPU.",
    fix="Call torch.cuda.synchronize() before each reading of the clock, or use torch.cuda.Event(enable_timing=True).",
    before="start = time.time()\ny = model(x)\nprint(time.time() - start)",
    after="torch.cuda.synchronize()\nstart = time.time()\ny = model(x)\ntorch.cuda.synchronize()\n"
    "print(time.time() - start)",
    find=find,
    only_gpu=True,
    silent="whole epochs, spans that contain .item(), a condition on a tensor or another wait, models on the CPU, scripts "
    "without a GPU",
)
