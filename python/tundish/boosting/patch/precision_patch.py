"""bfloat16: the statement of a model's call runs under autocast."""

from __future__ import annotations

import ast
import tokenize
from dataclasses import dataclass
from typing import Any

from .code_search import Site, call_at, deferred
from .edits import (
    BEFORE,
    INDENT,
    CannotEdit,
    Edits,
    TextEdit,
    TreeCopy,
    lines_after,
    stands_alone,
    statements,
)
from .source_file import SourceFile

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
# Losses that refuse bfloat16 under autocast of CUDA.
_REFUSED = ("BCELoss", "binary_cross_entropy")


def autocast_code(device: str) -> str:
    return f'torch.autocast("{device}", dtype=torch.bfloat16)'


@dataclass(frozen=True)
class AutocastCall:
    """A statement that calls a model. `problem`: why it cannot be written, or ""."""

    site: Site
    model: dict[str, Any]
    problem: str = ""


def calls_by_statement(source: SourceFile, models: list[dict[str, Any]]) -> list[AutocastCall]:
    """Returns one call of each statement of a file that calls models: the outermost one."""
    found: dict[int, AutocastCall] = {}
    for model in models:
        for site in model["call_sites"]:
            if site["file"] != str(source.path):
                continue
            try:
                call = call_at(source, site)
            except CannotEdit as error:
                found[-len(found) - 1] = AutocastCall(site, model, str(error))
                continue
            statement = source.statement(call)
            if id(statement) not in found or getattr(statement, "value", None) is call:
                found[id(statement)] = AutocastCall(site, model)
    return list(found.values())


def autocast_call(source: SourceFile, found: AutocastCall) -> Edits:
    """Returns the edits that run the statement under autocast."""
    if found.problem:
        raise CannotEdit(found.problem)
    if not found.site["is_direct"]:
        raise CannotEdit("a library calls the model")
    call = call_at(source, found.site)
    edits = _autocast(source, call, source.statement(call), found.model)
    edits.modules.add("torch")
    return edits


def _autocast(
    source: SourceFile, call: ast.Call, statement: ast.stmt, model: dict[str, Any]
) -> Edits:
    _check(source, call, statement)
    device = model["identity"]["device"]
    to_float = _conversion(call, statement, model, device, source)
    assert statement.end_lineno is not None
    line, newline = statement.lineno, source.newline(statement.lineno)
    outer = source.indentation(line)
    unit = _indentation_unit(source, statement)
    header = f"with {autocast_code(device)}:"
    place = source.line_start(line)
    edits = Edits([TextEdit(place, place, f"{outer}{header}{newline}", BEFORE)])
    try:
        inside_strings = source.strings_over_lines()
    except (SyntaxError, tokenize.TokenError) as error:
        raise CannotEdit("the lines of the file cannot be told apart") from error
    for number in range(line, statement.end_lineno + 1):
        if number not in inside_strings and source.lines[number - 1].strip():
            begin = source.line_start(number)
            at = begin + len(outer) if source.lines[number - 1].startswith(outer) else begin
            edits.texts.append(TextEdit(at, at, unit, INDENT))
    if to_float:
        edits.texts.append(lines_after(source, statement, [outer + to_float]))

    def change(tree: TreeCopy) -> None:
        def wrapped(old: Any) -> list[Any]:
            block = statements(f"{header}\n    pass")[0]
            assert isinstance(block, ast.With)
            block.body = [old]
            return [block, *statements(to_float)]

        tree.replace(statement, wrapped)

    edits.trees.append(change)
    if isinstance(statement, ast.Return) and statement.value is call:
        edits += _return_in_float(source, call, model)
    return edits


def _check(source: SourceFile, call: ast.Call, statement: ast.stmt) -> None:
    if hasattr(statement, "body"):
        raise CannotEdit("the call is in the first line of a block")
    if not isinstance(statement, _SIMPLE):
        raise CannotEdit("the statement of the call is no assignment")
    elsewhere = deferred(source, call)
    if elsewhere:
        raise CannotEdit(f"the call is in {elsewhere}")
    if not all(stands_alone(source, statement)):
        raise CannotEdit("the call shares its line with other statements")
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(statement)):
        raise CannotEdit("the statement waits for other code")


def _conversion(
    call: ast.Call, statement: ast.stmt, model: dict[str, Any], device: str, source: SourceFile
) -> str:
    """Returns the statement that converts outputs to float32, "" if none is needed."""
    value = getattr(statement, "value", None)
    if value is not call:
        if device == "cuda" and _mentions(source, _REFUSED):
            raise CannotEdit("the statement computes a loss that refuses bfloat16")
        return ""
    output = model["output"]
    if isinstance(statement, ast.Return):
        if output != "tensor" and output != "loss":
            raise CannotEdit("the statement returns the outputs, and they are not one tensor")
        return ""
    if isinstance(statement, ast.Expr | ast.AugAssign) or output == "loss":
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]  # type: ignore[attr-defined]
    target = targets[0]
    if len(targets) == 1 and output == "tensor" and _is_path(target):
        name = ast.unparse(target)
        return f"{name} = {name}.float()"
    if len(targets) == 1 and output == "tensors" and _is_path(target):
        name = ast.unparse(target)
        return f"{name} = tuple(part.float() for part in {name})"
    names = _names(target)
    if len(targets) == 1 and output in ("tensors", "fields") and names:
        return f"{', '.join(names)} = {', '.join(f'{name}.float()' for name in names)}"
    raise CannotEdit("the outputs must be converted to float32, and they are not one tensor")


def _names(target: ast.expr) -> list[str]:
    """Returns the names of a target such as `out, features`, or an empty list."""
    parts = target.elts if isinstance(target, ast.Tuple) else []
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else []


def _is_path(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
    )


def _return_in_float(source: SourceFile, call: ast.Call, model: dict[str, Any]) -> Edits:
    if model["output"] != "tensor":
        return Edits()
    end = source.end(call)

    def change(tree: TreeCopy) -> None:
        tree.replace(
            call,
            lambda old: [ast.Call(ast.Attribute(old, "float", ast.Load()), [], [])],
        )

    return Edits([TextEdit(end, end, ".float()")], [change])


def _mentions(source: SourceFile, names: tuple[str, ...]) -> bool:
    return any(
        (node.id if isinstance(node, ast.Name) else node.attr) in names
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )


def _indentation_unit(source: SourceFile, statement: ast.stmt) -> str:
    """Returns the indentation of a block within the block of a statement, in the file's style."""
    own = source.indentation(statement.lineno)
    for parent in source.parents(statement):
        if isinstance(parent, ast.stmt):
            outer = source.indentation(parent.lineno)
            if own.startswith(outer) and own != outer:
                return own[len(outer) :]
    for node in ast.walk(source.tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and body:
            inner, outer = source.indentation(body[0].lineno), source.indentation(node.lineno)
            if body[0].lineno > node.lineno and inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
    return "    "
