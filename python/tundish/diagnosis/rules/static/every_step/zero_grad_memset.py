"""Detects gradients that are filled with zeros instead of being set to None."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, is_literal
from ....script.libraries import uses_rpc
from ..static_rule import Occurrence, StaticRule

# Names in scripts whose gradients must stay in place: views of a shared buffer, memory of a CUDA graph.
_NEED_GRADIENTS_IN_PLACE = (
    "tundish.optim.flatten",
    "torch.cuda.graph",
    "torch.cuda.CUDAGraph",
    "torch.cuda.make_graphed_callables",
)


def find(script: Script) -> Iterator[Occurrence]:
    found = list(_memsets(script))
    if found and not _needs_gradients(script):
        yield from found


def _memsets(script: Script) -> Iterator[Occurrence]:
    for call in script.methods("zero_grad"):
        if is_literal(argument(call, "set_to_none", 0), False):
            yield Occurrence(
                call,
                "every gradient is filled with zeros, then read and accumulated",
                f"{script.text(call.func)}() sets them to None: set_to_none=True is the default",
            )
    for call in script.methods("zero_"):
        if _zeroed(call) is not None and _per_parameter(script, call):
            yield Occurrence(
                call,
                "every gradient is filled with zeros, with one kernel per parameter",
                "use optimizer.zero_grad(), or param.grad = None",
            )


def _needs_gradients(script: Script) -> bool:
    """Returns whether the script reads or reuses `.grad`, so that None gradients would break it."""
    if uses_rpc(script) or any(True for _ in script.calls(*_NEED_GRADIENTS_IN_PLACE)):
        return True
    zeroed = {_zeroed(call) for call in script.methods("zero_")}
    return any(
        node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and node not in zeroed
        and not _is_compared_with_none(script, node)
        and not script.name(node)  # torch.autograd.grad
        for node in script.nodes(ast.Attribute)
    )


def _zeroed(call: ast.Call) -> ast.Attribute | None:
    """Returns `x.grad` for `x.grad.zero_()` and `x.grad.data.zero_()`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Attribute) and owner.attr == "data":
        owner = owner.value
    return owner if isinstance(owner, ast.Attribute) and owner.attr == "grad" else None


def _is_compared_with_none(script: Script, node: ast.AST) -> bool:
    """Recognizes `p.grad is not None`."""
    parent = script.parents.get(node)
    return isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.Is | ast.IsNot)


def _per_parameter(script: Script, call: ast.Call) -> bool:
    """Returns whether a call is inside `for p in model.parameters()`."""
    for loop in script.loops_around(call):
        called = (
            loop.iter.func
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
            else None
        )
        if isinstance(called, ast.Attribute):
            return called.attr in ("parameters", "named_parameters")
    return False


RULE = StaticRule(
    id="zero-grad-memset",
    title="gradients are set to zero instead of None",
    level="warning",
    reason="Filling with zeros is a pass over all gradients, and the backward pass then accumulates instead of writing. "
    "The memory also stays allocated during the forward pass.",
    fix="Call optimizer.zero_grad(): set_to_none=True is the default since torch 2.0. The optimizer then skips a parameter "
    "without a gradient, whereas with a zero gradient momentum and weight decay still change it.",
    before="optimizer.zero_grad(set_to_none=False)",
    after="optimizer.zero_grad()",
    find=find,
    silent="scripts that read .grad, which would be None; scripts with tundish.optim.flatten, CUDA graphs or "
    "torch.distributed.rpc, which need gradients in place",
)
