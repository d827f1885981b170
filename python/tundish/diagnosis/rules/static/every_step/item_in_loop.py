"""Detects `loss.item()` in every step, which makes the CPU wait for the GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.names import written
from ....script.timing import remaining_waits_note, timed_step_note
from ..static_rule import Occurrence, StaticRule

_LATER = "every 50 steps or after the epoch"
_LOG_METHODS = {"info", "debug", "warning", "log", "log_dict", "write", "add_scalar", "add_scalars"}
_LOG_METHODS |= {"set_postfix", "set_postfix_str", "set_description", "log_metrics"}
_MATH_MODULES = ("math.", "numpy.", "torch.")  # math.log(loss.item())


def find(script: Script) -> Iterator[Occurrence]:
    for call, tensor, read in _reads(script):
        if not script.values.is_gpu_tensor(tensor) or not script.loops.waits_each_step(call):
            continue
        if not _is_needed(script, call):
            yield Occurrence(
                call, f"{read} waits for the GPU in every step", _remedy(script, call, tensor)
            )


def _reads(script: Script) -> Iterator[tuple[ast.Call, ast.expr, str]]:
    for call in script.methods("item", "tolist"):
        if isinstance(call.func, ast.Attribute):
            yield call, call.func.value, f".{call.func.attr}()"
    for call in script.calls("float", "int"):
        if len(call.args) == 1 and not call.keywords:
            yield call, call.args[0], script.text(call)


def _is_needed(script: Script, call: ast.Call) -> bool:
    """Returns whether the step itself needs the number now, so the read cannot be delayed.

    In forward(), any use except arithmetic needs the number, such as a split size or an index. In a
    loop, this holds for a variable used as an index, a size or a condition.
    """
    parent = script.parents.get(call)
    if getattr(script.loops.step_region(call), "name", "") == "forward":
        return not isinstance(parent, ast.BinOp)
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return _controls_code(script, call)
    name = parent.targets[0].id
    return any(
        _controls_code(script, node) and script.loops.step_region(node) is not None
        for node in script.inside(script.function(call), ast.Name)
        if node.id == name and isinstance(node.ctx, ast.Load)
    )


def _controls_code(script: Script, node: ast.AST) -> bool:
    """Recognizes `x[:n]`, `range(n)` and `if n > 3:`, even inside larger expressions."""
    below = node
    for ancestor in script.ancestors(node):
        if isinstance(ancestor, ast.Subscript):
            return below is ancestor.slice
        if isinstance(ancestor, ast.Call) and below is not ancestor.func:
            return script.name(ancestor.func) == "range"
        if isinstance(ancestor, ast.If | ast.While | ast.IfExp | ast.Assert):
            return below is ancestor.test
        if isinstance(ancestor, ast.stmt):
            return False
        below = ancestor
    return False


def _remedy(script: Script, call: ast.Call, tensor: ast.expr) -> str:
    """Suggests a replacement, and other changes that must accompany it."""
    name = script.text(tensor, 100)
    kept = name if name.endswith(".detach()") or _is_comparison(tensor) else f"{name}.detach()"
    others = remaining_waits_note(script, _other_reads(script, call))
    return _replacement(script, call, kept) + others + timed_step_note(script, call)


def _replacement(script: Script, call: ast.Call, kept: str) -> str:
    """Suggests a replacement that fits the use of the number."""
    shown = _logging_call(script, call)
    if shown is not None and _is_lightning_log(script, shown):
        return f"pass {kept} itself: {written(shown.func)}() takes tensors"
    if shown is not None:
        return f"call {script.text(shown.func)}() only every 50 steps, behind an if"
    parent = script.parents.get(call)
    if isinstance(parent, ast.AugAssign):
        return f"add {kept} to {script.text(parent.target)}: the sum stays on the GPU; read it {_LATER}"
    if isinstance(parent, ast.Return):
        return f"return {kept}, and read it {_LATER}"
    if isinstance(parent, ast.BinOp):
        return f"compute with {kept} itself: arithmetic accepts one-element tensors"
    if isinstance(parent, ast.keyword):
        parent = script.parents.get(parent)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        if parent.func.attr == "append":
            return f"append {kept}, and read the list {_LATER}: torch.stack(...).tolist()"
        if parent.func.attr == "update":
            return (
                f"collect {kept} in a list, and pass its numbers to update() when they are printed"
            )
    use = _later_log(script, parent)
    if use is not None:
        return f"keep the tensor ({kept}) and show it ({script.line_text(use)}) only every 50 steps"
    return f"keep the tensor ({kept}) and read it {_LATER}"


def _is_comparison(tensor: ast.expr) -> bool:
    """Recognizes `(a == b).sum()`, an integer without a gradient."""
    while isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
        tensor = tensor.func.value
    return isinstance(tensor, ast.Compare)


def _logging_call(script: Script, node: ast.AST) -> ast.Call | None:
    """Returns the call of print(), a logger or a progress bar that receives the node."""
    below = node
    for ancestor in script.ancestors(node):
        if isinstance(ancestor, ast.stmt):
            break
        if isinstance(ancestor, ast.Call) and below is not ancestor.func:
            name = script.name(ancestor.func)
            last = ancestor.func.attr if isinstance(ancestor.func, ast.Attribute) else name
            if name == "print" or (last in _LOG_METHODS and not name.startswith(_MATH_MODULES)):
                return ancestor
        below = ancestor
    return None


def _is_lightning_log(script: Script, call: ast.Call) -> bool:
    """Recognizes `self.log(...)` in a LightningModule, but not in a trainer of another library."""
    owner = script.enclosing_class(call)
    is_module = owner is not None and script.values.is_module_class(owner)
    return is_module and written(call.func) in ("self.log", "self.log_dict")


def _later_log(script: Script, statement: ast.AST | None) -> ast.Name | None:
    """Returns `last` in a later line that prints it, for a statement such as `last = loss.item()`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return None
    name = statement.targets[0].id
    for node in script.inside(script.function(statement), ast.Name):
        is_read = node.id == name and isinstance(node.ctx, ast.Load)
        if is_read and _logging_call(script, node) and script.loops.waits_each_step(node):
            return node
    return None


def _other_reads(script: Script, call: ast.Call) -> Iterator[ast.Call]:
    """Yields other calls in the same step that read values of possible GPU tensors."""
    region = script.loops.step_region(call)
    for other, tensor, _ in _reads(script):
        if script.values.infer(tensor).kind or script.loops.step_region(other) is not region:
            continue
        is_read = not isinstance(other.func, ast.Name) or _is_unpacked(script, tensor)
        if is_read and script.loops.waits_each_step(other) and not _is_needed(script, other):
            yield other


def _is_unpacked(script: Script, value: ast.expr) -> bool:
    """Recognizes `loss, fraction = criterion(output, y)`: `fraction` may be a tensor or a number."""
    bindings = script.bindings(value)
    return len(bindings) == 1 and bindings[0].how == "item"


RULE = StaticRule(
    id="item-in-loop",
    title="a number is read from the GPU in every step",
    level="warning",
    reason="The CPU waits until the GPU has finished all queued work, and the GPU is then idle until the CPU "
    "has queued the next step. Without the wait, the CPU prepares steps ahead of the GPU.",
    fix="Keep the tensor with .detach() and read it every 50 steps, or once after the epoch. A running sum of float32 "
    "tensors has a rounding error of about 1e-7 of the sum per step, unlike Python's float; .detach().double() is as precise as Python.",
    before="total += loss.item()",
    after="total += loss.detach()  # .item() once, after the epoch",
    find=find,
    only_gpu=True,
    silent="behind an if (every 50 steps); in loops that step an environment (env.step); in validation loops; in scripts "
    "without a GPU; numbers that the step needs: an index, a size, a condition, and in forward() everything except arithmetic",
)
