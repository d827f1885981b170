"""Conversion of a model's outputs to float32, so that losses are computed as without autocast."""

from __future__ import annotations

import ast

from .code_search import last_name
from .edits import CannotEdit, Edits, TextEdit, TreeCopy
from .source_file import SourceFile

# Functions and methods that keep the type of a tensor.
_KEEPING = (
    *("squeeze", "unsqueeze", "view", "reshape", "flatten", "transpose", "permute", "contiguous"),
    *("sigmoid", "softmax", "log_softmax", "logsigmoid", "tanh", "relu", "clamp", "exp", "clone"),
    *("mean", "sum", "normalize", "interpolate", "float"),
)
# Losses that refuse bfloat16 under autocast of CUDA.
_REFUSED = ("BCELoss", "binary_cross_entropy")


def outputs_kind(value: ast.expr | None, call: ast.Call, output: str) -> str:
    """Returns what an expression has of a call's outputs: "tensor", "dict", ... or "" if unknown.

    `output`: the kind of the call's own value (ModelFacts.output).
    """
    if value is call:
        return output
    if isinstance(value, ast.Subscript):
        inner = outputs_kind(value.value, call, output)
        is_item = inner in ("tensors", "fields", "dict") and not isinstance(value.slice, ast.Slice)
        return "tensor" if inner == "tensor" or is_item else ""
    if isinstance(value, ast.Call) and last_name(value.func) in _KEEPING:
        tensors = value.args[:1]
        if isinstance(value.func, ast.Attribute):
            tensors = [value.func.value, *tensors]
        if any(outputs_kind(one, call, output) == "tensor" for one in tensors):
            return "tensor"
    return ""


def float_statement(statement: ast.stmt, kind: str) -> str:
    """Returns the statement that converts the outputs, "" if none is needed.

    Raises CannotEdit if the outputs have another form.
    """
    if kind in ("", "loss") or isinstance(statement, ast.Expr | ast.AugAssign):
        return ""
    if isinstance(statement, ast.Return):
        if kind != "tensor":
            raise CannotEdit("the statement returns the outputs, and they are not one tensor")
        return ""
    target = _target(statement)
    if target is not None and (isinstance(target, ast.Name) or _is_attribute(target)):
        name = ast.unparse(target)
        if kind == "tensor":
            return f"{name} = {name}.float()"
        if kind == "tensors":
            return f"{name} = tuple(part.float() for part in {name})"
        if kind == "dict":
            return f"{name} = {{key: part.float() for key, part in {name}.items()}}"
    names = _names(target)
    if kind in ("tensors", "fields") and names:
        return f"{', '.join(names)} = {', '.join(f'{name}.float()' for name in names)}"
    raise CannotEdit("the outputs must be converted to float32, and they are not one tensor")


def return_in_float(source: SourceFile, statement: ast.Return) -> Edits:
    value = statement.value
    assert value is not None
    end = source.end(value)

    def change(tree: TreeCopy) -> None:
        tree.wrap(value, lambda old: ast.Call(ast.Attribute(old, "float", ast.Load()), [], []))

    return Edits([TextEdit(end, end, ".float()")], [change])


def names_refused_loss(source: SourceFile) -> bool:
    """Returns whether a file names a loss that refuses bfloat16 under autocast of CUDA."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute) and last_name(node) in _REFUSED:
            return True
        if isinstance(node, ast.alias) and node.name in _REFUSED:
            return True
    return False


def _target(statement: ast.stmt) -> ast.expr | None:
    """Returns the only target of an assignment."""
    if isinstance(statement, ast.AnnAssign):
        return statement.target
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0]
    return None


def _is_attribute(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)


def _names(target: ast.expr | None) -> list[str]:
    """Returns the names of a target such as `out, features`, or an empty list."""
    parts = target.elts if isinstance(target, ast.Tuple) else []
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else []
