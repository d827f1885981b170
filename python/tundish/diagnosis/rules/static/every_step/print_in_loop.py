"""Detects tensors printed in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule

_BARS = ("set_postfix", "set_description", "set_postfix_str")
_LOGS = ("info", "debug", "warning")


def find(script: Script) -> Iterator[Occurrence]:
    for call in _prints(script):
        tensor = next((shown for shown in _shown(call) if script.values.is_gpu_tensor(shown)), None)
        if tensor is not None and script.loops.waits_each_step(call):
            yield Occurrence(
                call,
                f"printing {script.text(tensor, 30)} makes the CPU wait for the GPU in every step",
                "print every 50 steps: if step % 50 == 0: ...",
            )


def _prints(script: Script) -> Iterator[ast.Call]:
    yield from script.calls("print")
    yield from script.methods(*_BARS)
    for call in script.methods(*_LOGS):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id in ("logger", "logging", "log"):
            yield call


def _shown(call: ast.Call) -> Iterator[ast.expr]:
    for arg in [*call.args, *(keyword.value for keyword in call.keywords)]:
        if isinstance(arg, ast.JoinedStr):
            for part in arg.values:
                if isinstance(part, ast.FormattedValue):
                    yield part.value
        elif isinstance(arg, ast.Call) and isinstance(arg.func, ast.Attribute):
            if arg.func.attr == "format":
                yield from arg.args
        elif isinstance(arg, ast.BinOp) and isinstance(arg.op, ast.Mod):
            right = arg.right
            yield from right.elts if isinstance(right, ast.Tuple) else [right]
        else:
            yield arg


RULE = StaticRule(
    id="print-in-loop",
    title="a tensor is printed in every step",
    level="warning",
    reason="The value of a tensor is known only when the GPU has computed it, so printing makes the CPU wait "
    "in every step.",
    fix="Print every 50 steps.",
    before='print("loss", loss)',
    after='if step % 50 == 0:\n    print("loss", loss.item())',
    find=find,
    only_gpu=True,
    silent="behind an if, in scripts without a GPU",
)
