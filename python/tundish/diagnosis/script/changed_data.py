"""Detects datasets that the script changes between epochs. Persistent workers would miss the changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .bindings import start_position
from .call_arguments import argument
from .loaders import origins
from .names import written

if TYPE_CHECKING:
    from .script import Script

_IN_WORKERS = (("dataset", 0), ("collate_fn", 6), ("worker_init_fn", 9))


def changes_between_epochs(script: Script, loader: ast.Call) -> bool:
    """Returns whether a loop modifies an object that workers have a copy of, or calls its methods."""
    given = [argument(loader, name, position) for name, position in _IN_WORKERS]
    roots = [expression for expression in given if expression is not None]
    calls = _creating_calls(script, roots)
    names = {written(root) for root in roots} | _names_in(script, calls)
    code = _code(script, calls, roots)
    names |= _global_names(script, code)
    if any(_has_counter(script, node) for node in code) or _rebinds(script, names, calls):
        return True
    made = {id(call) for call in calls}
    for changed in _changed_objects(script):
        name = written(changed)
        if ".dataset" in f".{name}" or name in names:
            return True
        if any(id(call) in made for call in origins(script, changed)):
            return True
    return False


def _creating_calls(script: Script, roots: list[ast.expr]) -> list[ast.Call]:
    """Returns the calls that may have created the dataset, its transforms and other arguments."""
    found: dict[int, ast.Call] = {}
    pending = list(roots)
    while pending and len(found) < 64:
        for call in origins(script, pending.pop()):
            if id(call) not in found:
                found[id(call)] = call
                pending += [*call.args, *(keyword.value for keyword in call.keywords)]
                for arg in [*call.args, *(arg.value for arg in call.keywords)]:
                    pending += [part for part in ast.walk(arg) if isinstance(part, ast.Call)]
    return list(found.values())


def _names_in(script: Script, calls: list[ast.Call]) -> set[str]:
    """Returns the names in calls, such as `ds` and `aug` in `Subset(ds, range(8), transform=aug)`.

    Omits imported names.
    """
    given = [
        arg for call in calls for arg in [*call.args, *(keyword.value for keyword in call.keywords)]
    ]
    parts = [part for arg in given for part in ast.walk(arg)]
    names = {written(part) for part in parts if not script.name(part)}
    return {name for name in names if name and name != "self"}


def _code(script: Script, calls: list[ast.Call], roots: list[ast.expr]) -> list[ast.AST]:
    """Returns the classes and functions of this script whose code runs in the workers."""
    found = [
        script.definition(expression) for expression in [*roots, *(call.func for call in calls)]
    ]
    found += [script.definition(arg) for call in calls for arg in call.args]
    return [node for node in found if node is not None]


def _global_names(script: Script, code: list[ast.AST]) -> set[str]:
    """Returns the module-level variables that `code` reads."""
    return {
        part.id
        for node in code
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        if (scope := script.lookup(part)) is not None and scope.node is script.tree
    }


def _has_counter(script: Script, code: ast.AST) -> bool:
    """Detects `self.calls += 1` in __getitem__. Restarted workers start from the initial value."""
    return any(
        isinstance(part, ast.AugAssign)
        and written(part.target).startswith("self.")
        and getattr(script.function(part), "name", "") not in ("__init__", "__len__")
        for part in ast.walk(code)
    )


def _rebinds(script: Script, names: set[str], calls: list[ast.Call]) -> bool:
    """Returns whether a loop or function rebinds a variable that the workers read."""
    made = {id(call) for call in calls}
    for node in script.nodes(ast.Name):
        if node.id not in names or not isinstance(node.ctx, ast.Store):
            continue
        statement = script.statement(node)
        value = getattr(statement, "value", None)
        if id(value) in made or isinstance(statement, ast.For):
            continue
        scope = script.scopes[node]
        is_global = scope.node is script.tree or node.id in scope.outer_names
        if is_global and (script.loops_around(node) or node.id in scope.outer_names):
            return True
    return False


def _changed_objects(script: Script) -> Iterator[ast.expr]:
    """Yields x for `x.p = 1`, `x[0] = 1`, `del x.p`, `setattr(x, ...)` and `x.method()` in loops."""
    parts: list[ast.Attribute | ast.Subscript] = [*script.nodes(ast.Attribute)]
    parts += script.nodes(ast.Subscript)
    for node in parts:
        if not isinstance(node.ctx, ast.Load) and _is_repeated(script, node):
            yield from _owners(node.value)
    for call in script.nodes(ast.Call):
        if not _is_repeated(script, call):
            continue
        if isinstance(call.func, ast.Attribute) and not script.name(call.func):
            yield from _owners(call.func.value)
        elif script.name(call.func) in ("setattr", "random.shuffle", "numpy.random.shuffle"):
            yield from call.args[:1]


def _owners(node: ast.expr) -> Iterator[ast.expr]:
    """Yields `a.b.c`, `a.b` and `a` for `a.b.c.d = 1`. Omits self."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            yield node
        node = node.value
    if isinstance(node, ast.Name) and node.id != "self":
        yield node


def _is_repeated(script: Script, node: ast.AST) -> bool:
    """Returns whether a node runs repeatedly: in a loop, in a function called in a loop, or a callback."""
    if script.loops_around(node):
        return True
    name = getattr(script.function(node), "name", "")
    if not name or name == "__init__":
        return False
    calls = [
        call for call in script.calls_named(name) if start_position(call) != start_position(node)
    ]
    return not calls or any(script.loops_around(call) for call in calls)
