"""Detects torch.jit.script and torch.jit.trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.names import written
from ..static_rule import Occurrence, StaticRule

_OLD = ("torch.jit.script", "torch.jit.trace", "torch.jit.script_method", "torch.jit.trace_module")
_NEW = ("torch.compile", "torch.export.export", "torch._dynamo.optimize")
# Attributes that only ScriptModule and ScriptFunction have.
_ONLY_SCRIPTED = {"save", "save_to_buffer", "graph", "inlined_graph", "graph_for", "code"}
_ONLY_SCRIPTED |= {"code_with_constants", "_c", "_save_for_lite_interpreter"}
_SIZES = {"size", "shape", "numel", "dim", "ndim"}


def find(script: Script) -> Iterator[Occurrence]:
    if any(True for _ in script.calls(*_NEW)):
        return
    for call in script.calls(*_OLD):
        if not _must_be_scripted(script, call):
            given = script.text(call.args[0], 30) if call.args else "the module"
            fix = f"remove it: {given} runs the same without it; use torch.compile for speed"
            yield Occurrence(call, f"{script.name(call.func)} is deprecated", fix)
    decorated: list[ast.FunctionDef | ast.ClassDef] = [
        *script.nodes(ast.FunctionDef),
        *script.nodes(ast.ClassDef),
    ]
    for node in decorated:
        for decorator in node.decorator_list:
            if script.name(decorator) in _OLD and not _reads_sizes(node):
                yield Occurrence(
                    decorator,
                    f"{script.name(decorator)} is deprecated",
                    _without_decorator(script, node),
                )


def _without_decorator(script: Script, node: ast.FunctionDef | ast.ClassDef) -> str:
    fix = f"remove the decorator: {node.name} runs the same without it"
    if not script.calls_named(node.name):
        return fix
    bounds = _untyped_bounds(node)
    if not bounds:
        return f"{fix}, and torch.compile fuses it with the model"
    ints = f"{', '.join(bounds)} {'is an int' if len(bounds) == 1 else 'are ints'}"
    return f"{fix}; torch.compile fuses it with the model if {ints}"


def _untyped_bounds(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """Returns untyped parameters that are used as a bound of a slice.

    TorchScript treats them as tensors, which torch.compile cannot trace in a slice.
    """
    if isinstance(node, ast.ClassDef):
        return []
    names = [parameter.arg for parameter in node.args.args if parameter.annotation is None]
    bounds = [
        bound
        for inner in ast.walk(node)
        if isinstance(inner, ast.Slice)
        for bound in (inner.lower, inner.upper, inner.step)
    ]
    used = {bound.id for bound in bounds if isinstance(bound, ast.Name)}
    return [name for name in names if name in used]


def _must_be_scripted(script: Script, call: ast.Call) -> bool:
    """Returns whether an option or later code requires TorchScript.

    Later code may save the module for another program, pass it on, or read its graph.
    """
    parent = script.parents.get(call)
    if any(isinstance(ancestor, ast.If | ast.IfExp) for ancestor in script.ancestors(call)):
        return True
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ONLY_SCRIPTED
    if isinstance(parent, ast.Call | ast.keyword | ast.Return):
        return True
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    names = {written(target) for target in targets} - {""}
    home = script.function(call)
    nodes: list[ast.Name | ast.Attribute] = [
        *script.nodes(ast.Name),
        *script.nodes(ast.Attribute),
    ]
    return any(
        written(node) in names
        and (script.function(node) is home or "." in written(node))
        and not script.is_inside(node, call)
        and _needs_script(script, node)
        for node in nodes
        if isinstance(node.ctx, ast.Load)
    )


def _needs_script(script: Script, node: ast.AST) -> bool:
    """Recognizes `traced.save(path)` and `torch.jit.freeze(traced.eval())`."""
    parent = script.parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr in _ONLY_SCRIPTED:
        return True
    around = list(script.ancestors(node))[:4]
    return any(
        isinstance(ancestor, ast.Call) and script.name(ancestor.func).startswith("torch.jit.")
        for ancestor in around
    )


def _reads_sizes(node: ast.AST) -> bool:
    """Returns whether a function reads tensor sizes, which torch.jit.trace records as constants."""
    return any(
        isinstance(inner, ast.Attribute) and inner.attr in _SIZES for inner in ast.walk(node)
    )


RULE = StaticRule(
    id="torchscript",
    title="torch.jit.script or torch.jit.trace, which are deprecated",
    level="warning",
    reason="TorchScript has been deprecated since 2025, and torch 2.13 warns at each call. torch.compile fuses pointwise operations better.",
    fix="Remove it: the function or module runs the same without it. Use torch.compile for speed, torch.export to ship a model.",
    before="@torch.jit.script\ndef gelu(x): ...",
    after="@torch.compile\ndef gelu(x): ...",
    find=find,
    silent="torch.jit.ignore, unused, is_scripting and other markers without cost; scripts that also use torch.compile or "
    "torch.export, where TorchScript is one of several options; calls behind an if; modules that are saved, returned, passed on, or whose graph is "
    "read, which need a ScriptModule; scripted functions that read sizes, which torch.jit.trace would otherwise record as constants",
)
