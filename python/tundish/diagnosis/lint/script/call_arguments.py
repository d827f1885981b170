"""Arguments of a call, by name or by position."""

from __future__ import annotations

import ast


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The expression that is given for an argument; None if there is none."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        if not any(isinstance(one, ast.Starred) for one in before):
            return before[-1]
    return None


def has_unknown_arguments(call: ast.Call) -> bool:
    """`f(*words)`, `f(**options)`: any argument may be among them."""
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    return starred or any(one.arg is None for one in call.keywords)


def is_literal(expression: ast.AST | None, value: object) -> bool:
    """Whether the expression is this literal; 0 is not False."""
    if not isinstance(expression, ast.Constant):
        return False
    return type(expression.value) is type(value) and expression.value == value
