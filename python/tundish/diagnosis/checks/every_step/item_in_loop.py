"""`loss.item()` in every step: the CPU waits for the GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ..check import Check, Found


def find(script: Script) -> Iterator[Found]:
    for call, tensor, words in _reads(script):
        if script.values.is_gpu_tensor(tensor) and script.loops.waits_each_step(call):
            name = script.text(tensor, 30)
            yield Found(
                call,
                f"{words} waits for the GPU in every step",
                f"keep the tensor ({name}.detach()) and read it every 50 steps or after the epoch",
            )


def _reads(script: Script) -> Iterator[tuple[ast.Call, ast.expr, str]]:
    for call in script.methods("item", "tolist"):
        if isinstance(call.func, ast.Attribute):
            yield call, call.func.value, f".{call.func.attr}()"
    for call in script.calls("float", "int"):
        if len(call.args) == 1 and not call.keywords:
            yield call, call.args[0], script.text(call)


CHECK = Check(
    id="item-in-loop",
    title="a number is read from the GPU in every step",
    level="warning",
    why="The CPU stops until the GPU has finished everything that is queued, and the GPU is then idle until the CPU "
    "has queued the next step. Without the wait the CPU prepares steps ahead of the GPU.",
    remedy="Keep the tensor with .detach() and read it every 50 steps, or once after the epoch.",
    before="total += loss.item()",
    after="total += loss.detach()  # .item() once, after the epoch",
    find=find,
    only_gpu=True,
    silent="behind an if (every 50 steps), where an environment is stepped (env.step), in validation loops, in scripts that name no GPU",
)
