"""Resolves parameters of a script's functions to the arguments passed to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .call_arguments import argument

if TYPE_CHECKING:
    from .script import Script


def passed_arguments(script: Script, function: ast.AST, parameter: ast.expr) -> Iterator[ast.expr]:
    """Yields the expressions passed for a parameter in the script's calls of the function."""
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
