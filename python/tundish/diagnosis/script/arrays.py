"""Detects NumPy arrays that only one expression uses, so that a tensor may share their memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .bindings import start_position
from .call_arguments import argument, has_unknown_arguments, is_literal

if TYPE_CHECKING:
    from .script import Script

_TENSORS = ("torch.tensor", "torch.Tensor", "torch.FloatTensor")
_FUNCTIONS = ("numpy.load", "numpy.stack", "numpy.concatenate", "numpy.array", "numpy.fromfile")
_VIEWS = ("reshape", "transpose", "squeeze")
_PLAIN = ("shape", "size", "ndim", "dtype")


def is_fresh(script: Script, array: ast.expr, reader: ast.AST, depth: int = 0) -> bool:
    """Returns whether the array is created for this sample and used only by `reader`.

    Returns False for an attribute (which the dataset keeps), an indexed element (possibly a number), a
    slice (whose step may be negative) and a memory-mapped or borrowed array (possibly read-only).
    """
    if depth > 6:
        return False
    if isinstance(array, ast.Call):
        return _is_created(script, array, reader, depth)
    if not isinstance(array, ast.Name):
        return False
    bindings = script.reaching(array)
    if not bindings or any(binding.how not in ("assign", "augment") for binding in bindings):
        return False
    loops = script.loops_around(reader)[:1]
    for binding in bindings:
        home = script.function(binding.statement) is script.function(reader)
        if not home or script.loops_around(binding.statement)[:1] != loops:
            return False
        changed = binding.how == "augment"  # an operation such as +=, in place or into a new array
        if not changed and (
            binding.value is None or not is_fresh(script, binding.value, reader, depth + 1)
        ):
            return False
    return _read_only_by(script, array, reader)


def _is_created(script: Script, call: ast.Call, reader: ast.AST, depth: int) -> bool:
    name = script.name(call.func)
    if has_unknown_arguments(call):
        return False
    if name == "numpy.transpose" and call.args:
        return is_fresh(script, call.args[0], reader, depth + 1)
    if name:
        mapped = argument(call, "mmap_mode", 1) if name == "numpy.load" else None
        return name in _FUNCTIONS and mapped is None and argument(call, "copy") is None
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in ("copy", "astype"):
        is_array = script.values.infer(call.func.value).kind == "array"
        return is_array and not is_literal(argument(call, "copy", 4), False)
    return call.func.attr in _VIEWS and is_fresh(script, call.func.value, reader, depth + 1)


def _read_only_by(script: Script, array: ast.Name, reader: ast.AST) -> bool:
    """Returns whether no other line keeps the array, so that no line sees writes to the tensor."""
    for node in script.inside(script.function(reader), ast.Name):
        if node.id != array.id or script.is_inside(node, reader):
            continue
        parent = script.parents.get(node)
        if not isinstance(node.ctx, ast.Load):
            if isinstance(parent, ast.AugAssign) and start_position(node) > start_position(reader):
                return False
            continue
        if isinstance(parent, ast.Attribute) and parent.attr in _PLAIN:
            continue
        if isinstance(parent, ast.Call) and script.name(parent.func) == "len":
            continue
        copies = isinstance(parent, ast.Call) and script.name(parent.func) in _TENSORS
        if not copies or not _is_returned(script, parent) or not _is_returned(script, reader):
            return False
    return True


def _is_returned(script: Script, tensor: ast.AST | None) -> bool:
    """Returns whether the tensor is only returned, as in `return tensor, label`, and never written to.

    The tensor may first be assigned to a variable that nothing else reads.
    """
    parent = script.parents.get(tensor) if tensor is not None else None
    while isinstance(parent, ast.Tuple | ast.List | ast.Dict):
        parent = script.parents.get(parent)
    if isinstance(parent, ast.Return):
        return True
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return False
    name = parent.targets[0].id
    uses = [node for node in script.inside(script.function(parent), ast.Name) if node.id == name]
    return all(use is parent.targets[0] or _is_returned(script, use) for use in uses)
