"""Finds the expression of each model where its optimizer is constructed."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Sequence
from typing import Any

from .code_search import call_at, comprehension, is_bound_within, is_path
from .edits import CannotEdit
from .source_file import SourceFile

_PARAMETERS = ("parameters", "named_parameters")


def models_of_optimizer(source: SourceFile, call: ast.Call, limit: int = 3) -> list[ast.expr]:
    """Returns X of each `X.parameters()` that gives the optimizer its parameters.

    Names in the arguments, such as a list of parameter groups, are followed to their assignments.
    """
    found: dict[str, ast.expr] = {}
    names = {node.id for node in _names([*call.args, *(k.value for k in call.keywords)])}
    _collect(call, found)
    scope, end = source.scope(call), source.end(call)
    while not found and names and limit:
        limit -= 1
        sources = [node for node in ast.walk(scope) if _fills(node, names, end, source, scope)]
        for node in sources:
            _collect(node, found)
        names = {name.id for node in sources for name in _names([node])} - names
    return list(found.values())


def _collect(node: ast.AST, found: dict[str, ast.expr]) -> None:
    for one in ast.walk(node):
        function = one.func if isinstance(one, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr in _PARAMETERS:
            found.setdefault(ast.unparse(function.value), function.value)


def _names(nodes: Sequence[ast.AST]) -> list[ast.Name]:
    return [n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]


def _fills(node: ast.AST, names: set[str], end: int, source: SourceFile, scope: ast.AST) -> bool:
    """Returns whether a statement above the optimizer assigns, loops over or appends to a name."""
    if not isinstance(node, ast.stmt) or source.start(node) >= end:
        return False
    if source.scope(node) is not scope:
        return False
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(name.id in names for name in _names(targets))
    if isinstance(node, ast.For):
        filled = (*_names([node.target]), *(n for one in node.body for n in _names([one])))
        return any(name.id in names for name in filled)
    return False


def model_expressions(
    source: SourceFile, call: ast.Call, models: list[dict[str, Any]], elements: int
) -> list[str]:
    """Returns the code of the models whose parameters an optimizer gets.

    models    the survey's models
    elements  of all parameters of the optimizer
    """
    if comprehension(source, call):
        raise CannotEdit("the optimizer is constructed in a comprehension")
    found = models_of_optimizer(source, call)
    if not found:
        raise CannotEdit("the arguments of the optimizer name no model")
    if not all(is_path(node) and not is_bound_within(source, node) for node in found):
        raise CannotEdit("the arguments of the optimizer give the model no name")
    assigned = [name for name in (assigned_name(source, model) for model in models) if name]
    whole = {_whole(ast.unparse(node), assigned) for node in found}
    if all(name in assigned for name in whole):
        return sorted(whole)
    sizes = sorted(model["identity"]["parameters"] for model in models)
    if len(whole) == 1 and (elements in sizes or whole <= _called(source, models)):
        return sorted(whole)
    if len(whole) == len(models) and elements == sum(sizes):
        return sorted(whole)
    raise CannotEdit("the optimizer has parts of a model, and the model's name is unknown")


def assigned_name(source: SourceFile, model: dict[str, Any]) -> str:
    """Returns the name that a model is assigned to where it is constructed, or ""."""
    site = model["made"]
    if site["file"] != str(source.path) or not site["line"]:
        return ""
    try:
        call = call_at(source, site)
    except CannotEdit:
        return ""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    value: ast.expr = statement.value
    while isinstance(value, ast.Call) and value is not call:  # Net().to(device)
        if not isinstance(value.func, ast.Attribute):
            return ""
        value = value.func.value
    target = statement.targets[0]
    return ast.unparse(target) if value is call and is_path(target) else ""


def _whole(name: str, assigned: list[str]) -> str:
    """Returns the model that a name is part of: `model` for `model.head`."""
    return next((one for one in assigned if f"{name}.".startswith(f"{one}.")), name)


def _called(source: SourceFile, models: list[dict[str, Any]]) -> set[str]:
    """Returns the expressions that the training loop calls as models in this file."""
    names = set()
    for site in [site for model in models for site in model["call_sites"]]:
        if site["file"] == str(source.path):
            with contextlib.suppress(CannotEdit):
                names.add(ast.unparse(call_at(source, site).func))
    return names
