"""Traces how a loss is computed, to find out whether it may already be divided by a number of batches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .call_arguments import passed_arguments
from .loaders import method

if TYPE_CHECKING:
    from .bindings import Binding
    from .script import Script

# Packages whose losses and models never divide by the number of accumulated batches.
_LIBRARIES = {"torch", "torchvision", "torchaudio", "transformers", "timm", "monai", "kornia"}
# Functions that return a scaled, combined or wrapped argument.
_WRAPPERS = {"torch.compile", "torch.nn.parallel.DistributedDataParallel", "torch.nn.DataParallel"}
_WRAPPERS |= {"torch.nn.Sequential", "torch.jit.script", "torch.mean", "torch.sum", "sum"}
_SCALES = {"div", "div_", "true_divide", "mul", "mul_", "multiply", "divide"}
_DEPTH = 12


class LossScale:
    """Follows a loss through the names, calls and functions of the script that compute it."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._seen: set[ast.AST] = set()

    def may_scale(self, value: ast.AST | None, depth: int = 0) -> bool:
        """Returns whether a value, or the result of calling it, may be divided or multiplied.

        Returns True for unknown functions and values, and False for a value that is already being
        followed.
        """
        if value is None or depth > _DEPTH:
            return True
        if value in self._seen or isinstance(value, ast.Constant):
            return False
        self._seen.add(value)
        if isinstance(value, ast.Name | ast.Attribute):
            return self._name_may_scale(value, depth + 1)
        if isinstance(value, ast.Call):
            return self._call_may_scale(value, depth + 1)
        if isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            return self._code_may_scale(value, depth + 1)
        parts = _parts(value)
        return not parts or any(self.may_scale(part, depth + 1) for part in parts)

    def _name_may_scale(self, node: ast.Name | ast.Attribute, depth: int) -> bool:
        name = self._script.name(node)
        if name:
            return name.partition(".")[0] not in _LIBRARIES
        bindings = self._script.bindings(node)
        if not bindings and isinstance(node, ast.Attribute):
            return self._attribute_may_scale(node, depth)
        sources = [source for binding in bindings for source in self._sources(binding, node)]
        return not sources or any(self.may_scale(source, depth) for source in sources)

    def _sources(self, binding: Binding, node: ast.expr) -> list[ast.AST | None]:
        if binding.how == "define":
            return [binding.target]
        if binding.how == "parameter":
            return [*passed_arguments(self._script, binding.statement, node)] or [None]
        if isinstance(binding.value, ast.Constant):
            return [binding.value]
        return [binding.value] if binding.how in ("assign", "item", "augment", "with") else [None]

    def _attribute_may_scale(self, node: ast.Attribute, depth: int) -> bool:
        if not isinstance(node.value, ast.Name) or node.value.id != "self":
            return self.may_scale(node.value, depth)
        made_by = self._script.enclosing_class(node)
        return self.may_scale(method(made_by, node.attr) if made_by is not None else None, depth)

    def _call_may_scale(self, call: ast.Call, depth: int) -> bool:
        if self._script.name(call.func) in _WRAPPERS:
            return any(self.may_scale(given, depth) for given in call.args)
        if isinstance(call.func, ast.Name) and call.func.id == "self":
            made_by = self._script.enclosing_class(call)
            return self.may_scale(
                method(made_by, "forward") if made_by is not None else None, depth
            )
        return self.may_scale(call.func, depth)

    def _code_may_scale(self, code: ast.AST, depth: int) -> bool:
        for node in ast.walk(code):
            if isinstance(node, ast.BinOp | ast.AugAssign) and _scales(node.op):
                return True
            if isinstance(node, ast.Attribute) and node.attr in _SCALES:
                return True
        parts = [*self._results(code), *getattr(code, "bases", ())]
        return any(self.may_scale(part, depth) for part in parts)

    def _results(self, code: ast.AST) -> Iterator[ast.AST]:
        """Yields the return values of a function, or the methods of a class."""
        if isinstance(code, ast.Lambda):
            yield code.body
        elif isinstance(code, ast.ClassDef):
            forward = method(code, "forward") or method(code, "__call__")
            yield from [forward] if forward is not None else []
        else:
            for node in self._script.inside(code, ast.Return):
                yield from [node.value] if node.value is not None else []


def _scales(operator: ast.operator) -> bool:
    return isinstance(operator, ast.Div | ast.Mult)


def _parts(value: ast.AST) -> list[ast.expr]:
    """Returns the expressions that a value combines or chooses from; empty if they are unknown."""
    if isinstance(value, ast.BinOp):
        return [] if _scales(value.op) else [value.left, value.right]
    if isinstance(value, ast.IfExp):
        return [value.body, value.orelse]
    if isinstance(value, ast.Tuple | ast.List):
        return value.elts
    if isinstance(value, ast.Subscript | ast.Starred | ast.Await):
        return [value.value]
    if isinstance(value, ast.UnaryOp):
        return [value.operand]
    return []
