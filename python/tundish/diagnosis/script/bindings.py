"""Name binding: the scopes of a script, and the bindings (such as assignments) of each name."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.Module, ast.ClassDef, *FUNCTIONS, *COMPREHENSIONS)

Position = tuple[int, int]


@dataclass(frozen=True)
class Binding:
    """A place in the code that binds a name.

    `how` is one of:

    assign     the name is the value
    item       the name is element `index` of the value
    each       the name is each element of the value in turn
    each_item  the name is item `index` of each element of the value
    augment    the value is added to the name, or similar
    with, parameter, define, other
    """

    how: str
    statement: ast.AST  # the statement, or the scope itself for a parameter
    value: ast.expr | None
    after: Position  # the binding is visible to uses after this position
    index: int = 0
    target: ast.AST | None = None


@dataclass
class Scope:
    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer_names: set[str] = field(default_factory=set)  # names declared global or nonlocal

    def add(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)


def end_position(node: ast.AST) -> Position:
    return (
        getattr(node, "end_lineno", 0) or 0,
        getattr(node, "end_col_offset", 0) or 0,
    )


def start_position(node: ast.AST) -> Position:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def binding_targets(target: ast.AST) -> list[tuple[ast.Name | ast.Attribute, int, bool]]:
    """Returns (name or attribute, index, whether it is an item) for each part of a target."""
    if isinstance(target, ast.Name | ast.Attribute):
        return [(target, 0, False)]
    found: list[tuple[ast.Name | ast.Attribute, int, bool]] = []
    pending = [target]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Tuple | ast.List):
            for index, part in enumerate(node.elts):
                if isinstance(part, ast.Starred):
                    part = part.value
                if isinstance(part, ast.Name | ast.Attribute):
                    found.append((part, index, True))
                else:
                    pending.append(part)
    return found


def node_bindings(node: ast.AST) -> list[tuple[ast.AST, Binding]]:
    """Returns the targets (names or attributes) that a node binds, with their bindings."""
    pairs: list[tuple[ast.AST, ast.expr | None, str, Position]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value, "assign", end_position(node)) for target in node.targets]
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        pairs = [(node.target, node.value, "assign", end_position(node))]
    elif isinstance(node, ast.AugAssign):
        pairs = [(node.target, node.value, "augment", end_position(node))]
    elif isinstance(node, ast.For | ast.AsyncFor):
        pairs = [(node.target, node.iter, "each", end_position(node.iter))]
    elif isinstance(node, ast.comprehension):
        pairs = [(node.target, node.iter, "each", (0, 0))]
    elif isinstance(node, ast.With | ast.AsyncWith):
        pairs = [
            (item.optional_vars, item.context_expr, "with", end_position(item.context_expr))
            for item in node.items
            if item.optional_vars is not None
        ]
    found: list[tuple[ast.AST, Binding]] = []
    for target, value, how, after in pairs:
        found += _bind(node, target, value, how, after)
    return found


def _bind(
    node: ast.AST, target: ast.AST, value: ast.expr | None, how: str, after: Position
) -> list[tuple[ast.AST, Binding]]:
    """Returns bindings: two assignments for `a, b = x, y`, two items of one value for `a, b = f()`."""
    if (
        how == "assign"
        and isinstance(target, ast.Tuple | ast.List)
        and isinstance(value, ast.Tuple | ast.List)
        and len(target.elts) == len(value.elts)
        and not any(isinstance(element, ast.Starred) for element in (*target.elts, *value.elts))
    ):
        found: list[tuple[ast.AST, Binding]] = []
        for element, part in zip(target.elts, value.elts):
            for name, index, item in binding_targets(element):
                kind = "item" if item else "assign"
                found.append((name, Binding(kind, node, part, after, index, name)))
        return found
    items = {"assign": "item", "each": "each_item"}
    return [
        (name, Binding(items.get(how, how) if item else how, node, value, after, index, name))
        for name, index, item in binding_targets(target)
    ]


def make_scopes(tree: ast.Module) -> tuple[dict[ast.AST, Scope], dict[ast.AST, ast.AST]]:
    """Returns the scope and the parent of every node. Not recursive, so that nesting can be deep."""
    root = Scope(tree, None)
    scopes: dict[ast.AST, Scope] = {tree: root}
    parents: dict[ast.AST, ast.AST] = {}
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        inside = scopes[node]
        if isinstance(node, SCOPES) and node is not tree:
            own = Scope(node, inside)
            _declare(node, inside, own)
        else:
            own = inside
        for child in ast.iter_child_nodes(node):
            parents[child] = node
            outside = isinstance(node, FUNCTIONS) and _is_outside(node, child)
            scopes[child] = inside if outside else own
            stack.append(child)
        if isinstance(node, ast.Global | ast.Nonlocal):
            own.outer_names.update(node.names)
        for target, binding in node_bindings(node):
            if isinstance(target, ast.Name):
                own.add(target.id, binding)
    for scope in {id(scope): scope for scope in scopes.values()}.values():
        for bindings in scope.bindings.values():
            bindings.sort(key=lambda binding: binding.after)
    return scopes, parents


def _is_outside(function: ast.AST, child: ast.AST) -> bool:
    """Returns whether `child` is evaluated in the scope around the function, as decorators are."""
    return child in getattr(function, "decorator_list", ()) or child is getattr(
        function, "returns", None
    )


def _declare(node: ast.AST, outside: Scope, own: Scope) -> None:
    if isinstance(node, FUNCTIONS):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [
            parameter for parameter in (arguments.vararg, arguments.kwarg) if parameter is not None
        ]
        for parameter in every:
            own.add(
                parameter.arg,
                Binding("parameter", node, None, start_position(node), target=parameter),
            )
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        outside.add(node.name, Binding("define", node, None, start_position(node), target=node))
