"""A parsed script: nodes by type, ancestors, full names, values and training loops."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from .bindings import (
    FUNCTIONS,
    Binding,
    Scope,
    end_position,
    make_scopes,
    node_bindings,
    start_position,
)
from .loops import Loops
from .names import canonical, dotted, imported_modules, imported_names, written
from .source_text import SourceText
from .values import Values

Node = TypeVar("Node", bound=ast.AST)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Script:
    """The analysis of one file, which all checks share. Immutable after construction."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.tree = source.tree
        self._functions: dict[ast.AST, ast.AST] = {}  # results of function()
        self.scopes, self.parents = make_scopes(source.tree)
        self._by_type: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.scopes:
            self._by_type.setdefault(type(node), []).append(node)
        for nodes in self._by_type.values():
            nodes.sort(key=start_position)
        self._starts = {
            kind: [start_position(node) for node in nodes] for kind, nodes in self._by_type.items()
        }
        imports = [*self.nodes(ast.Import), *self.nodes(ast.ImportFrom)]
        self.imports = imported_names(imports)
        self.imported = imported_modules(imports)
        self.attributes = self._attributes()
        self.values = Values(self)
        self.loops = Loops(self)

    # --- nodes ------------------------------------------------------------------------------------

    def nodes(self, kind: type[Node]) -> list[Node]:
        """Returns every node of a type in source order."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    @cached_property
    def _named_calls(self) -> list[tuple[str, ast.Call]]:
        found = [(self.name(call.func), call) for call in self.nodes(ast.Call)]
        return [(name, call) for name, call in found if name]

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Yields the calls of functions with these full names. "torch.nn." matches the whole package."""
        whole = {name for name in names if not name.endswith(".")}
        prefixes = tuple(name for name in names if name.endswith("."))
        for name, call in self._named_calls:
            if name in whole or (prefixes and name.startswith(prefixes)):
                yield call

    @cached_property
    def _methods(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for call in self.nodes(ast.Call):
            if isinstance(call.func, ast.Attribute):
                found.setdefault(call.func.attr, []).append(call)
        return found

    def methods(self, *names: str) -> list[ast.Call]:
        """Returns the calls `x.name(...)` for any x."""
        return [call for name in names for call in self._methods.get(name, ())]

    def text(self, node: ast.AST, limit: int = 48) -> str:
        """Returns the source of a node up to the end of its first line, or up to `limit` characters."""
        line, column = start_position(node)
        end, end_column = end_position(node)
        if not 0 < line <= len(self.source.lines):
            return ""
        data = self.source.lines[line - 1].encode("utf-8", "replace")
        text = data[column : end_column if end == line else None].decode("utf-8", "replace")
        text = " ".join(text.split())
        if end != line:
            text += " ..."
        return text if len(text) <= limit else text[: limit - 3] + "..."

    def line_text(self, node: ast.AST) -> str:
        """Returns the location of a node: `line 18`, or `cell 3, line 3` in a notebook."""
        cell, line = self.source.location(start_position(node)[0])
        return f"line {line}" if cell is None else f"cell {cell}, line {line}"

    @cached_property
    def _by_last_name(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for call in self.nodes(ast.Call):
            found.setdefault(written(call.func).rpartition(".")[2], []).append(call)
        return found

    def calls_named(self, name: str) -> list[ast.Call]:
        """Returns the calls `name(...)` and `a.b.name(...)`.

        Most of these calls run a function that the script defines under this name.
        """
        return self._by_last_name.get(name, []) if name else []

    # --- ancestors of a node ----------------------------------------------------------------------

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def is_inside(self, node: ast.AST, outer: ast.AST) -> bool:
        return any(ancestor is outer for ancestor in self.ancestors(node))

    def function(self, node: ast.AST) -> ast.AST:
        """Returns the function that contains a node, or the module."""
        found = self._functions.get(node)
        if found is None:
            around = (outer for outer in self.ancestors(node) if isinstance(outer, FUNCTIONS))
            found = self._functions[node] = next(around, self.tree)
        return found

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """Returns the class in one of whose methods the node is, or None."""
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, ast.ClassDef):
                return ancestor
        return None

    def statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def loops_around(self, node: ast.AST) -> list[ast.AST]:
        """Returns the loops of the same function whose body contains the node, innermost first."""
        found: list[ast.AST] = []
        below = node
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, FUNCTIONS):
                break
            if isinstance(ancestor, LOOPS) and below in ancestor.body:
                found.append(ancestor)
            below = ancestor
        return found

    def in_main_guard(self, node: ast.AST) -> bool:
        """Returns whether the node is inside `if __name__ == "__main__":`."""
        tests = [ancestor.test for ancestor in self.ancestors(node) if isinstance(ancestor, ast.If)]
        return any(
            isinstance(test, ast.Compare) and written(test.left) == "__name__" for test in tests
        )

    def inside(self, outer: ast.AST, kind: type[Node]) -> list[Node]:
        """Returns the nodes of a type that run when `outer` runs. Excludes nested functions."""
        first, last = start_position(outer), end_position(outer)
        if isinstance(outer, ast.Module):
            first, last = (0, 0), (1 << 60, 0)
        home = outer if isinstance(outer, FUNCTIONS) else self.function(outer)
        if isinstance(outer, ast.Module):
            home = outer
        starts = self._starts.get(kind, [])
        near = slice(bisect_left(starts, first), bisect_right(starts, last))
        return [
            node
            for node in self.nodes(kind)[near]
            if node is not outer and self.function(node) is home
        ]

    # --- names ------------------------------------------------------------------------------------

    def name(self, expression: ast.AST) -> str:
        """Returns the full name of an imported object or a builtin, such as torch.nn.Linear.

        Returns "" for the script's own variables and for other expressions.
        """
        base, parts = dotted(expression)
        if base is None:
            return ""
        scope = self.lookup(base)
        known = self.imports.get(base.id)
        if known is not None and (scope is None or scope.parent is None):
            return canonical(".".join([known, *parts]))
        if scope is None and not parts:
            return base.id
        return ""

    def lookup(self, name: ast.Name) -> Scope | None:
        """Returns the scope that binds a name. Bindings by an import do not count."""
        scope: Scope | None = self.scopes[name]
        first = True
        while scope is not None:
            visible = first or not isinstance(scope.node, ast.ClassDef)
            if visible and name.id in scope.bindings and name.id not in scope.outer_names:
                return scope
            first, scope = False, scope.parent
        return None

    def definition(self, expression: ast.AST) -> ast.AST | None:
        """Returns the class or function in this script that a name refers to."""
        if not isinstance(expression, ast.Name):
            return None
        for binding in self.reaching(expression):
            if binding.how == "define":
                return binding.target
        return None

    # --- values -----------------------------------------------------------------------------------

    def reaching(self, name: ast.Name) -> list[Binding]:
        """Returns the bindings that may give a name its value at this use, nearest first.

        Assumes that code runs in source order. The result has the last binding before the use. It also
        has earlier bindings, as long as all later bindings may be skipped.
        """
        scope = self.lookup(name)
        if scope is None:
            return []
        bindings = scope.bindings[name.id]
        if scope is not self.scopes[name]:
            return list(reversed(bindings))
        here = start_position(name)
        around = {id(ancestor) for ancestor in self.ancestors(name)}
        found: list[Binding] = []
        for binding in reversed(bindings):
            if binding.after > here:
                continue
            found.append(binding)
            if binding.how != "augment" and self._always_runs_before(binding, around):
                return found
        return found or list(reversed(bindings))

    def _always_runs_before(self, binding: Binding, around: set[int]) -> bool:
        if binding.how == "parameter":
            return True
        statement = binding.statement
        if isinstance(statement, ast.comprehension):
            return True
        if isinstance(statement, LOOPS):
            return id(statement) in around
        if not isinstance(statement, ast.stmt):
            statement = self.statement(statement)
        block = self.parents.get(statement)
        if block is None:
            return True
        if id(block) not in around:
            return isinstance(block, ast.With | ast.AsyncWith)
        if isinstance(block, ast.If | ast.For | ast.While | ast.Try):
            mates = self._enclosing_block(statement, block)
            return any(id(mate) in around for mate in mates) or not mates
        return True

    @staticmethod
    def _enclosing_block(statement: ast.stmt, parent: ast.AST) -> list[ast.stmt]:
        for name in ("body", "orelse", "finalbody"):
            block: list[ast.stmt] = getattr(parent, name, [])
            if statement in block:
                return block
        return []

    def _attributes(self) -> dict[tuple[ast.ClassDef | None, str], list[Binding]]:
        """Returns assignments to attributes, by (class, "x") for `self.x` and (None, "y.x") for `y.x`."""
        found: dict[tuple[ast.ClassDef | None, str], list[Binding]] = {}
        for kind in (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With):
            for node in self.nodes(kind):
                for target, binding in node_bindings(node):
                    name = written(target)
                    if not isinstance(target, ast.Attribute) or not name:
                        continue
                    owner = self.enclosing_class(node) if name.startswith("self.") else None
                    found.setdefault((owner, name), []).append(binding)
        return found

    def attribute_bindings(self, attribute: ast.Attribute) -> list[Binding]:
        name = written(attribute)
        if not name:
            return []
        owner = self.enclosing_class(attribute) if name.startswith("self.") else None
        return self.attributes.get((owner, name), [])

    def bindings(self, expression: ast.AST) -> list[Binding]:
        """Returns the bindings of a name or an attribute; empty for other expressions."""
        if isinstance(expression, ast.Name):
            return self.reaching(expression)
        if isinstance(expression, ast.Attribute):
            return self.attribute_bindings(expression)
        return []

    def constant(self, expression: ast.AST | None) -> object:
        """Returns the value of a literal, or of a name bound once to a literal; None if unknown."""
        for _ in range(4):
            if isinstance(expression, ast.Constant):
                return expression.value
            if expression is None:
                return None
            bindings = self.bindings(expression)
            if len(bindings) != 1 or bindings[0].how != "assign":
                return None
            expression = bindings[0].value
        return None
