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
from .float_outputs import float_statement, outputs_kind, return_in_float
from .source_file import SourceFile

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


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
            value = getattr(statement, "value", None)
            if id(statement) not in found or outputs_kind(value, call, model["output"]):
                found[id(statement)] = AutocastCall(site, model)
    return list(found.values())


def autocast_call(source: SourceFile, found: AutocastCall, refused: bool) -> Edits:
    """Returns the edits that run the statement under autocast.

    `refused`: the script uses a loss that refuses bfloat16 under autocast of CUDA.
    """
    if found.problem:
        raise CannotEdit(found.problem)
    if not found.site["is_direct"]:
        raise CannotEdit("a library calls the model")
    call = call_at(source, found.site)
    edits = _autocast(source, call, source.statement(call), found.model, refused)
    edits.modules.add("torch")
    return edits


def _autocast(
    source: SourceFile,
    call: ast.Call,
    statement: ast.stmt,
    model: dict[str, Any],
    refused: bool,
) -> Edits:
    _check(source, call, statement)
    device = model["identity"]["device"]
    kind = outputs_kind(getattr(statement, "value", None), call, model["output"])
    if not kind and refused and device == "cuda":
        raise CannotEdit("the statement may compute a loss that refuses bfloat16")
    to_float = float_statement(statement, kind)
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
    if isinstance(statement, ast.Return) and kind == "tensor":
        edits += return_in_float(source, statement)
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
