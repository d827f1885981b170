"""One script: its nodes by type, what is around a node, full names, values, training loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from .bindings import (
    COMPREHENSIONS,
    FUNCTIONS,
    Binding,
    Scope,
    bindings_of,
    end_of,
    make_scopes,
    start_of,
)
from .loops import Loops
from .names import canonical, dotted, imported_modules, imported_names, written
from .source_text import Source
from .values import Values

Node = TypeVar("Node", bound=ast.AST)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Script:
    """Made once per file; every check asks it. Nothing here changes after the constructor."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tree = source.tree
        self.scopes, self.parents = make_scopes(source.tree)
        self._by_type: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.scopes:
            self._by_type.setdefault(type(node), []).append(node)
        for nodes in self._by_type.values():
            nodes.sort(key=start_of)
        imports = [*self.nodes(ast.Import), *self.nodes(ast.ImportFrom)]
        self.imports = imported_names(imports)
        self.imported = imported_modules(imports)
        self.attributes = self._attributes()
        self.values = Values(self)
        self.loops = Loops(self)

    # --- nodes ------------------------------------------------------------------------------------

    def nodes(self, kind: type[Node]) -> list[Node]:
        """Every node of a type, in the order of the text."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    @cached_property
    def _named_calls(self) -> list[tuple[str, ast.Call]]:
        found = [(self.name(call.func), call) for call in self.nodes(ast.Call)]
        return [(name, call) for name, call in found if name]

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of functions with one of these full names; `torch.optim.` stands for all of it."""
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
        """Calls `x.name(...)`, whatever x is."""
        return [call for name in names for call in self._methods.get(name, ())]

    def text(self, node: ast.AST, limit: int = 48) -> str:
        """The node as the script writes it, cut at the end of its line."""
        line, column = start_of(node)
        end, end_column = end_of(node)
        if not 0 < line <= len(self.source.lines):
            return ""
        data = self.source.lines[line - 1].encode("utf-8", "replace")
        words = data[column : end_column if end == line else None].decode("utf-8", "replace")
        words = " ".join(words.split())
        if end != line:
            words += " ..."
        return words if len(words) <= limit else words[: limit - 3] + "..."

    def line_text(self, node: ast.AST) -> str:
        """`line 18`, or in a notebook `cell 3, line 3`."""
        cell, line = self.source.place(start_of(node)[0])
        return f"line {line}" if cell is None else f"cell {cell}, line {line}"

    @cached_property
    def _by_last_name(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for call in self.nodes(ast.Call):
            found.setdefault(written(call.func).rpartition(".")[2], []).append(call)
        return found

    def calls_named(self, name: str) -> list[ast.Call]:
        """Calls `name(...)` and `a.b.name(...)`: of a function of this script, most likely."""
        return self._by_last_name.get(name, []) if name else []

    # --- around a node ----------------------------------------------------------------------------

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def is_inside(self, node: ast.AST, outer: ast.AST) -> bool:
        return any(one is outer for one in self.ancestors(node))

    def function(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the module."""
        for one in self.ancestors(node):
            if isinstance(one, FUNCTIONS):
                return one
        return self.tree

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose method holds the node."""
        for one in self.ancestors(node):
            if isinstance(one, ast.ClassDef):
                return one
        return None

    def statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def loops_around(self, node: ast.AST) -> list[ast.AST]:
        """Loops of the same function whose body holds the node, innermost first."""
        found: list[ast.AST] = []
        below = node
        for one in self.ancestors(node):
            if isinstance(one, FUNCTIONS):
                break
            if isinstance(one, LOOPS) and below in one.body:
                found.append(one)
            below = one
        return found

    def in_main_guard(self, node: ast.AST) -> bool:
        """Whether the node is inside `if __name__ == "__main__":`."""
        tests = [one.test for one in self.ancestors(node) if isinstance(one, ast.If)]
        return any(
            isinstance(test, ast.Compare) and written(test.left) == "__name__" for test in tests
        )

    def in_comprehension(self, node: ast.AST) -> bool:
        return isinstance(self.scopes[node].node, COMPREHENSIONS)

    def inside(self, outer: ast.AST, kind: type[Node]) -> list[Node]:
        """Nodes of a type that run when `outer` runs: not those of functions defined in it."""
        first, last = start_of(outer), end_of(outer)
        if isinstance(outer, ast.Module):
            first, last = (0, 0), (1 << 60, 0)
        home = outer if isinstance(outer, FUNCTIONS) else self.function(outer)
        if isinstance(outer, ast.Module):
            home = outer
        return [
            node
            for node in self.nodes(kind)
            if first <= start_of(node) <= last and node is not outer and self.function(node) is home
        ]

    # --- names ------------------------------------------------------------------------------------

    def name(self, expression: ast.AST) -> str:
        """The full name of an imported thing or a builtin, such as torch.nn.Linear; empty if the
        expression is something else, or a variable of the script."""
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
        """The scope that binds a name, other than by an import."""
        scope: Scope | None = self.scopes[name]
        first = True
        while scope is not None:
            visible = first or not isinstance(scope.node, ast.ClassDef)
            if visible and name.id in scope.bindings and name.id not in scope.outer_names:
                return scope
            first, scope = False, scope.parent
        return None

    def definition(self, expression: ast.AST) -> ast.AST | None:
        """The class or function of this script that a name stands for."""
        if not isinstance(expression, ast.Name):
            return None
        for binding in self.reaching(expression):
            if binding.how == "define":
                return binding.target
        return None

    # --- values -----------------------------------------------------------------------------------

    def reaching(self, name: ast.Name) -> list[Binding]:
        """The bindings that can give a name its value at this place, the nearest first.

        Text order stands for the order of execution: the last binding before the use, and earlier
        ones as long as those found may have been skipped."""
        scope = self.lookup(name)
        if scope is None:
            return []
        bindings = scope.bindings[name.id]
        if scope is not self.scopes[name]:
            return list(reversed(bindings))
        here = start_of(name)
        around = {id(one) for one in self.ancestors(name)}
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
            mates = self._block_of(statement, block)
            return any(id(one) in around for one in mates) or not mates
        return True

    @staticmethod
    def _block_of(statement: ast.stmt, parent: ast.AST) -> list[ast.stmt]:
        for name in ("body", "orelse", "finalbody"):
            block: list[ast.stmt] = getattr(parent, name, [])
            if statement in block:
                return block
        return []

    def _attributes(self) -> dict[tuple[ast.ClassDef | None, str], list[Binding]]:
        """Assignments to `self.x`, by class and name; those to `other.x` under (None, 'other.x')."""
        found: dict[tuple[ast.ClassDef | None, str], list[Binding]] = {}
        for kind in (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With):
            for node in self.nodes(kind):
                for target, binding in bindings_of(node):
                    name = written(target)
                    if not isinstance(target, ast.Attribute) or not name:
                        continue
                    owner = self.class_of(node) if name.startswith("self.") else None
                    found.setdefault((owner, name), []).append(binding)
        return found

    def attribute_bindings(self, attribute: ast.Attribute) -> list[Binding]:
        name = written(attribute)
        if not name:
            return []
        owner = self.class_of(attribute) if name.startswith("self.") else None
        return self.attributes.get((owner, name), [])

    def bindings(self, expression: ast.AST) -> list[Binding]:
        """Of a name or an attribute; empty for other expressions."""
        if isinstance(expression, ast.Name):
            return self.reaching(expression)
        if isinstance(expression, ast.Attribute):
            return self.attribute_bindings(expression)
        return []

    def constant(self, expression: ast.AST | None) -> object:
        """The value of a literal, or of a name that only ever is one; None if it is not known."""
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
