"""Changes of the DataLoader that feeds the training."""

from __future__ import annotations

import ast
from typing import Any

from .code_search import bindings, call_at, is_path, last_name
from .edits import CannotEdit, Edits, insert_after, quoted, wrap_expression
from .keywords import set_keyword
from .source_file import SourceFile

# Positions of arguments of DataLoader that a script may pass without a name.
_POSITIONS = {"num_workers": 5, "pin_memory": 7}
_PREPARE = ("prepare", "prepare_data_loader", "setup_dataloaders")
# Functions that a loop calls with the loader.
_AROUND = ("enumerate", "tqdm", "iter", "track", "cycle", "islice")


def accelerated_constructor(source: SourceFile, site: dict[str, Any], pack: str) -> Edits:
    """Wraps the call that constructs the DataLoader."""
    call = call_at(source, site)
    edits = wrap_expression(source, call, "tundish.accelerate(", _pack_argument(pack) + ")")
    edits.modules.add("tundish")
    return edits


def accelerated_anywhere(
    source: SourceFile, site: dict[str, Any], loop: dict[str, Any], pack: str
) -> Edits:
    """Wraps the constructor's call, or accelerates the loop's loader if the call is ambiguous."""
    try:
        call_at(source, site)
    except CannotEdit:
        if loop["file"] != str(source.path):
            raise
        return accelerated_loop(source, loop["line"], pack)
    return accelerated_constructor(source, site, pack)


def accelerated_loop(source: SourceFile, line: int, pack: str) -> Edits:
    """Accelerates a loader that a library constructed: below the assignment of its name."""
    loader = _loader_of_loop(source, line)
    name = ast.unparse(loader)
    place = _assignment(source, loader, name)
    edits = insert_after(source, place, [f"{name} = {_accelerated(name, pack)}"])
    edits.modules.add("tundish")
    return edits


def keyword_of_loader(source: SourceFile, site: dict[str, Any], name: str, value: str) -> Edits:
    """Sets a keyword argument of the DataLoader's constructor."""
    call = call_at(source, site)
    if site["kind"] != "DataLoader":
        raise CannotEdit(f"{site['kind']} may take other arguments than DataLoader")
    return set_keyword(source, call, name, value, _POSITIONS[name])


def prepares_loaders(source: SourceFile) -> bool:
    """Returns whether a file calls Accelerate's or Fabric's functions that take torch's loaders."""
    calls = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    return any(last_name(call.func) in _PREPARE for call in calls)


def _accelerated(code: str, pack: str) -> str:
    return f"tundish.accelerate({code}{_pack_argument(pack)})"


def _pack_argument(pack: str) -> str:
    return f", pack={quoted(pack)}" if pack else ""


def _loader_of_loop(source: SourceFile, line: int) -> ast.expr:
    """Returns the expression of the loader in a `for` statement, without enumerate() and the like."""
    loop = next(
        (
            node
            for node in ast.walk(source.tree)
            if isinstance(node, ast.For) and node.iter.lineno <= line <= (node.iter.end_lineno or 0)
        ),
        None,
    )
    if loop is None:
        raise CannotEdit(
            "the DataLoader's constructor was not found, and no `for` loop iterates it"
        )
    expression = loop.iter
    while isinstance(expression, ast.Call) and expression.args:
        if ast.unparse(expression.func).rpartition(".")[2] not in _AROUND:
            break
        expression = expression.args[0]
    if not is_path(expression):
        raise CannotEdit(
            "the DataLoader's constructor was not found, and the loop gives it no name"
        )
    return expression


def _assignment(source: SourceFile, loader: ast.expr, name: str) -> ast.stmt:
    """Returns the only assignment of the loader, in the function of the loop or in the module."""
    scope: ast.AST = source.tree
    if isinstance(loader, ast.Name):
        scope = source.scope(loader)
        arguments = [node.arg for node in ast.walk(scope) if isinstance(node, ast.arg)]
        if name in arguments:
            raise CannotEdit(
                "the DataLoader's constructor was not found, and the loop's function gets it as argument"
            )
        if not bindings(source, name, scope):
            scope = source.tree
    found = bindings(source, name, scope)
    if len(found) != 1:
        raise CannotEdit(
            f"the DataLoader's constructor was not found, and {name} is not assigned once"
        )
    return found[0]
