"""Data sets that the script changes between epochs, which workers that stay would not see."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .bindings import start_of
from .call_arguments import argument
from .loaders import origins
from .names import written

if TYPE_CHECKING:
    from .script import Script

_IN_WORKERS = (("dataset", 0), ("collate_fn", 6), ("worker_init_fn", 9))


def changes_between_epochs(script: Script, loader: ast.Call) -> bool:
    """Whether a loop writes to, or calls a method of, anything that the workers got a copy of."""
    given = [argument(loader, name, position) for name, position in _IN_WORKERS]
    roots = [one for one in given if one is not None]
    calls = _makers(script, roots)
    names = {written(one) for one in roots} | _names_in(script, calls)
    code = _code(script, calls, roots)
    names |= _globals_of(script, code)
    if any(_counts(script, one) for one in code) or _rebinds(script, names, calls):
        return True
    made = {id(one) for one in calls}
    for thing in _touched(script):
        name = written(thing)
        if ".dataset" in f".{name}" or name in names:
            return True
        if any(id(one) in made for one in origins(script, thing)):
            return True
    return False


def _makers(script: Script, roots: list[ast.expr]) -> list[ast.Call]:
    """The calls that can have made the data set, its transforms, and what else it was given."""
    found: dict[int, ast.Call] = {}
    waiting = list(roots)
    while waiting and len(found) < 64:
        for call in origins(script, waiting.pop()):
            if id(call) not in found:
                found[id(call)] = call
                waiting += [*call.args, *(one.value for one in call.keywords)]
                for one in [*call.args, *(one.value for one in call.keywords)]:
                    waiting += [part for part in ast.walk(one) if isinstance(part, ast.Call)]
    return list(found.values())


def _names_in(script: Script, calls: list[ast.Call]) -> set[str]:
    """`ds` and `aug` of `Subset(ds, range(8), transform=aug)`, without what is imported."""
    given = [one for call in calls for one in [*call.args, *(word.value for word in call.keywords)]]
    parts = [part for one in given for part in ast.walk(one)]
    names = {written(part) for part in parts if not script.name(part)}
    return {name for name in names if name and name != "self"}


def _code(script: Script, calls: list[ast.Call], roots: list[ast.expr]) -> list[ast.AST]:
    """Classes and functions of this script whose code runs in the workers."""
    found = [script.definition(one) for one in [*roots, *(call.func for call in calls)]]
    found += [script.definition(one) for call in calls for one in call.args]
    return [one for one in found if one is not None]


def _globals_of(script: Script, code: list[ast.AST]) -> set[str]:
    """Variables of the module that this code reads."""
    return {
        part.id
        for one in code
        for part in ast.walk(one)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        if (scope := script.lookup(part)) is not None and scope.node is script.tree
    }


def _counts(script: Script, code: ast.AST) -> bool:
    """`self.calls += 1` in __getitem__: workers that start again begin anew."""
    return any(
        isinstance(part, ast.AugAssign)
        and written(part.target).startswith("self.")
        and getattr(script.function(part), "name", "") not in ("__init__", "__len__")
        for part in ast.walk(code)
    )


def _rebinds(script: Script, names: set[str], calls: list[ast.Call]) -> bool:
    """A variable that the workers read gets another value in a loop, or in a function."""
    made = {id(one) for one in calls}
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


def _touched(script: Script) -> Iterator[ast.expr]:
    """x of `x.p = 1`, `x[0] = 1`, `del x.p`, `setattr(x, ...)` and `x.method()`, where a loop runs it."""
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
    """`a.b.c`, `a.b`, `a` of `a.b.c.d = 1`, other than self."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            yield node
        node = node.value
    if isinstance(node, ast.Name) and node.id != "self":
        yield node


def _is_repeated(script: Script, node: ast.AST) -> bool:
    """In a loop, or in a function that a loop calls or that nobody here calls (a callback)."""
    if script.loops_around(node):
        return True
    name = getattr(script.function(node), "name", "")
    if not name or name == "__init__":
        return False
    calls = [one for one in script.calls_named(name) if start_of(one) != start_of(node)]
    return not calls or any(script.loops_around(one) for one in calls)
