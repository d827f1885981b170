"""What a script passes for a parameter of one of its own functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .call_arguments import argument

if TYPE_CHECKING:
    from .script import Script


def given_for(script: Script, function: ast.AST, parameter: ast.expr) -> Iterator[ast.expr]:
    """The expressions, wherever the script calls the function by its name."""
    if not isinstance(function, ast.FunctionDef) or not isinstance(parameter, ast.Name):
        return
    names = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    if parameter.id not in names or parameter.id == "self":
        return
    position = names.index(parameter.id) - (names[0] == "self")
    for call in script.calls_named(function.name):
        given = argument(call, parameter.id, position)
        if given is not None:
            yield given
