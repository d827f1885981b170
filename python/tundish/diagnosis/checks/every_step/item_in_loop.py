"""`loss.item()` in every step: the CPU waits for the GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ..check import Check, Found

_LATER = "every 50 steps or after the epoch"


def find(script: Script) -> Iterator[Found]:
    for call, tensor, words in _reads(script):
        if not script.values.is_gpu_tensor(tensor) or not script.loops.waits_each_step(call):
            continue
        if not _is_needed(script, call):
            yield Found(
                call, f"{words} waits for the GPU in every step", _remedy(script, call, tensor)
            )


def _reads(script: Script) -> Iterator[tuple[ast.Call, ast.expr, str]]:
    for call in script.methods("item", "tolist"):
        if isinstance(call.func, ast.Attribute):
            yield call, call.func.value, f".{call.func.attr}()"
    for call in script.calls("float", "int"):
        if len(call.args) == 1 and not call.keywords:
            yield call, call.args[0], script.text(call)


def _is_needed(script: Script, call: ast.Call) -> bool:
    """Whether the step itself goes on with the number, so that reading it later is no choice.

    In forward() all but arithmetic needs it: sizes to split by, indexes. In a loop, a variable that is an index, a size
    or a condition."""
    parent = script.parents.get(call)
    if getattr(script.loops.step_region(call), "name", "") == "forward":
        return not isinstance(parent, ast.BinOp)
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return _decides(script, call)
    name = parent.targets[0].id
    return any(
        node.id == name and isinstance(node.ctx, ast.Load) and _decides(script, node)
        for node in script.inside(script.function(call), ast.Name)
        if script.loops.step_region(node) is not None
    )


def _decides(script: Script, node: ast.AST) -> bool:
    """`x[:n]`, `range(n)`, `if n > 3:`, also as a part of an expression."""
    below = node
    for one in script.ancestors(node):
        if isinstance(one, ast.Subscript):
            return below is one.slice
        if isinstance(one, ast.Call) and below is not one.func:
            return script.name(one.func) == "range"
        if isinstance(one, ast.If | ast.While | ast.IfExp | ast.Assert):
            return below is one.test
        if isinstance(one, ast.stmt):
            return False
        below = one
    return False


def _remedy(script: Script, call: ast.Call, tensor: ast.expr) -> str:
    """What to write instead where the number goes: into a sum, a list, another call, to the caller."""
    name = script.text(tensor, 100)
    kept = name if name.endswith(".detach()") else f"{name}.detach()"
    parent = script.parents.get(call)
    if isinstance(parent, ast.AugAssign):
        return f"add {kept} to {script.text(parent.target)}: the sum stays on the GPU; read it {_LATER}"
    if isinstance(parent, ast.Return):
        return f"return {kept}, and read it {_LATER}"
    if isinstance(parent, ast.BinOp):
        return f"compute with {kept} itself: arithmetic takes a tensor of one element"
    if isinstance(parent, ast.keyword):
        parent = script.parents.get(parent)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        if parent.func.attr == "append":
            return f"append {kept}, and read the list {_LATER}: torch.stack(...).tolist()"
        if parent.func.attr == "update":
            return (
                f"collect {kept} in a list, and pass its numbers to update() when they are printed"
            )
    return f"keep the tensor ({kept}) and read it {_LATER}"


CHECK = Check(
    id="item-in-loop",
    title="a number is read from the GPU in every step",
    level="warning",
    why="The CPU stops until the GPU has finished everything that is queued, and the GPU is then idle until the CPU "
    "has queued the next step. Without the wait the CPU prepares steps ahead of the GPU.",
    remedy="Keep the tensor with .detach() and read it every 50 steps, or once after the epoch. A running sum of float32 "
    "tensors rounds where Python's float does not, by about 1e-7 of the sum per step; .detach().double() gives Python's digits.",
    before="total += loss.item()",
    after="total += loss.detach()  # .item() once, after the epoch",
    find=find,
    only_gpu=True,
    silent="behind an if (every 50 steps), where an environment is stepped (env.step), in validation loops, in scripts that "
    "name no GPU; numbers that the step goes on with: an index, a size, a condition, in forward() all but arithmetic",
)
