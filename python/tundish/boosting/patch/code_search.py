"""Finds the code of a survey's call sites."""

from __future__ import annotations

import ast
from typing import Any

from .edits import CannotEdit
from .source_file import SourceFile

Site = dict[str, Any]  # a CallSite of the survey, as JSON


def call_at(source: SourceFile, site: Site) -> ast.Call:
    """Returns the call that ran at a site. Raises CannotEdit if there is none, or several."""
    line, calls = site["line"], _calls(source.tree)
    if site["end_line"]:
        place = (site["end_line"], site["end_column"])
        found = [call for call in calls if (call.end_lineno, call.end_col_offset) == place]
    else:
        found = [call for call in calls if call.lineno <= line <= (call.end_lineno or 0)]
        if site["kind"]:
            found = [call for call in found if last_name(call.func) == site["kind"]] or found
    if not found:
        raise CannotEdit("the call was not found")
    if len(found) > 1:
        raise CannotEdit(f"line {line} has several calls")
    return found[0]


def _calls(node: ast.AST) -> list[ast.Call]:
    """Returns the calls in a tree, without f-strings: Python 3.11 gives wrong positions there."""
    found, pending = [], [node]
    while pending:
        parent = pending.pop()
        if isinstance(parent, ast.Call):
            found.append(parent)
        children = ast.iter_child_nodes(parent)
        pending += [child for child in children if not isinstance(child, ast.JoinedStr)]
    return found


def node_at_line(source: SourceFile, line: int) -> ast.stmt | None:
    """Returns the innermost statement of a line."""
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return min(found, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def last_name(node: ast.expr) -> str:
    """Returns the class of a call such as `torch.optim.SGD(...)`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_path(node: ast.AST) -> bool:
    """Returns whether an expression is a name with attributes or constant indices."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def deferred(source: SourceFile, node: ast.AST) -> str:
    """Returns what runs an expression at another time than its statement, or ""."""
    for parent in source.parents(node):
        if isinstance(parent, ast.stmt):
            return ""
        if isinstance(parent, ast.Lambda):
            return "a lambda"
        if isinstance(parent, ast.GeneratorExp):
            return "a generator expression"
    return ""


def comprehension(source: SourceFile, node: ast.AST) -> bool:
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    for parent in source.parents(node):
        if isinstance(parent, ast.stmt):
            return False
        if isinstance(parent, kinds):
            return True
    return False


def is_bound_within(source: SourceFile, path: ast.expr) -> bool:
    """Returns whether a comprehension or lambda of the statement binds the name of a path."""
    root = ast.unparse(path).partition(".")[0].partition("[")[0]
    for parent in source.parents(path):
        if isinstance(parent, ast.stmt):
            return False
        targets: list[ast.AST] = [one.target for one in getattr(parent, "generators", [])]
        if isinstance(parent, ast.Lambda):
            targets.append(parent.args)
        for node in (node for target in targets for node in ast.walk(target)):
            if root in (getattr(node, "id", None), getattr(node, "arg", None)):
                return True
    return False


def bindings(source: SourceFile, path: str, scope: ast.AST) -> list[ast.stmt]:
    """Returns the assignments of a scope to a name or attribute path."""
    found: list[ast.stmt] = []
    for node in ast.walk(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            is_here = source.scope(node) is scope or not isinstance(target, ast.Name)
            if is_here and path in [ast.unparse(one) for one in _flat(target)]:
                found.append(node)  # type: ignore[arg-type]
    return found


def _flat(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [one for item in target.elts for one in _flat(item)]
    return [target]
