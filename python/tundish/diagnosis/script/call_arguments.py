"""Looks up arguments of a call by name or position, and the arguments passed for a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .script import Script


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """Returns the expression passed for an argument, or None."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        if not any(isinstance(arg, ast.Starred) for arg in before):
            return before[-1]
    return None


def has_unknown_arguments(call: ast.Call) -> bool:
    """Returns whether the call has `*args` or `**options`, which may pass any argument."""
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    return starred or any(keyword.arg is None for keyword in call.keywords)


def is_literal(expression: ast.AST | None, value: object) -> bool:
    """Returns whether the expression is exactly this literal. The literal 0 does not equal False."""
    if not isinstance(expression, ast.Constant):
        return False
    return type(expression.value) is type(value) and expression.value == value


def passed_arguments(script: Script, function: ast.AST, parameter: ast.expr) -> Iterator[ast.expr]:
    """Yields the expressions that the script's calls of a function pass for a parameter."""
    if not isinstance(function, ast.FunctionDef) or not isinstance(parameter, ast.Name):
        return
    names = [parameter.arg for parameter in [*function.args.posonlyargs, *function.args.args]]
    if parameter.id not in names or parameter.id == "self":
        return
    position = names.index(parameter.id) - (names[0] == "self")
    for call in script.calls_named(function.name):
        given = argument(call, parameter.id, position)
        if given is not None:
            yield given
