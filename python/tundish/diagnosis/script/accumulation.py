"""Finds manual gradient accumulation: backward() in every step, the optimizer in every k-th step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .loss_scale import LossScale
from .names import written

if TYPE_CHECKING:
    from .script import Script

_HOOKS = {"register_hook", "register_post_accumulate_grad_hook", "register_full_backward_hook"}
_HOOKS |= {"register_backward_hook", "register_comm_hook", "register_multi_grad_hook"}


@dataclass(frozen=True)
class Accumulation:
    loop: ast.AST
    backward: ast.Call
    condition: ast.If  # if (i + 1) % k == 0
    steps: ast.expr  # k


def accumulations(script: Script) -> Iterator[Accumulation]:
    for loop in script.loops.training:
        backward = [
            call for call in script.loops.backward_calls if script.loops_around(call)[:1] == [loop]
        ]
        if len(backward) != 1 or any(
            isinstance(ancestor, ast.If) for ancestor in _between(script, backward[0], loop)
        ):
            continue
        for condition in script.inside(loop, ast.If):
            steps = _modulus(condition.test)
            if steps is None or _is_one(steps):
                continue
            methods = _methods(script, loop)
            held = {name for call, name in methods if script.is_inside(call, condition)}
            outside = {name for call, name in methods if not script.is_inside(call, condition)}
            if not {"step", "zero_grad"} <= held or "zero_grad" in outside:
                continue
            if any(script.is_inside(call, condition) for call in script.loops.step_calls):
                yield Accumulation(loop, backward[0], condition, steps)


def _between(script: Script, node: ast.AST, loop: ast.AST) -> Iterator[ast.AST]:
    for ancestor in script.ancestors(node):
        if ancestor is loop:
            return
        yield ancestor


def _methods(script: Script, loop: ast.AST) -> list[tuple[ast.Call, str]]:
    """Returns the calls `x.name(...)` in the loop, with their names."""
    return [
        (call, call.func.attr)
        for call in script.inside(loop, ast.Call)
        if isinstance(call.func, ast.Attribute)
    ]


def _modulus(test: ast.expr) -> ast.expr | None:
    """Returns k for `(i + 1) % k == 0`, even as part of `... or last`."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    for part in parts:
        left = part.left if isinstance(part, ast.Compare) else part
        if isinstance(left, ast.UnaryOp):
            left = left.operand
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
            return left.right
    return None


def _is_one(steps: ast.expr) -> bool:
    return isinstance(steps, ast.Constant) and steps.value == 1


def is_scaled(script: Script, found: Accumulation, loss: ast.expr) -> bool:
    """Returns whether the loss or the gradients may be divided or scaled anywhere in the script."""
    if not written(loss) or _has_gradient(found.backward) or _has_hooks(script):
        return True  # includes expressions such as (loss / k).backward()
    steps = written(found.steps)
    sums: list[ast.BinOp | ast.AugAssign] = [
        *script.inside(found.loop, ast.BinOp),
        *script.inside(found.loop, ast.AugAssign),
    ]
    if any(isinstance(node.op, ast.Div | ast.Mult) for node in sums):
        return True
    for call in script.inside(found.loop, ast.Call):
        last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if last in ("div_", "div", "mul_", "mul", "accumulate", "true_divide"):
            return True
        given = [
            written(arg) for arg in [*call.args, *(keyword.value for keyword in call.keywords)]
        ]
        if steps and steps in given:
            return True
    sums_samples = any(
        keyword.arg == "reduction" and getattr(keyword.value, "value", "") == "sum"
        for keyword in script.nodes(ast.keyword)
    )
    return sums_samples or LossScale(script).may_scale(loss)


def _has_gradient(backward: ast.Call) -> bool:
    """Returns whether backward() gets an argument: a gradient, or the loss.

    Calls such as Accelerate's `accelerator.backward(loss)` and DeepSpeed's `engine.backward(loss)`
    divide the loss themselves.
    """
    if getattr(backward.func, "attr", "") != "backward":
        return False
    return bool(backward.args) or any(key.arg == "gradient" for key in backward.keywords)


def _has_hooks(script: Script) -> bool:
    """Returns whether the script registers a hook, which may scale gradients."""
    return any(node.attr in _HOOKS for node in script.nodes(ast.Attribute))
