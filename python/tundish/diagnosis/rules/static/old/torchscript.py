"""torch.jit.script and torch.jit.trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.names import written
from ..static_rule import Check, Found

_OLD = ("torch.jit.script", "torch.jit.trace", "torch.jit.script_method", "torch.jit.trace_module")
_NEW = ("torch.compile", "torch.export.export", "torch._dynamo.optimize")
# Attributes that only a ScriptModule or ScriptFunction has.
_ONLY_SCRIPTED = {"save", "save_to_buffer", "graph", "inlined_graph", "graph_for", "code"}
_ONLY_SCRIPTED |= {"code_with_constants", "_c", "_save_for_lite_interpreter"}
_SIZES = {"size", "shape", "numel", "dim", "ndim"}


def find(script: Script) -> Iterator[Found]:
    if any(True for _ in script.calls(*_NEW)):
        return
    for call in script.calls(*_OLD):
        if not _must_be_scripted(script, call):
            given = script.text(call.args[0], 30) if call.args else "the module"
            remedy = (
                f"leave it out: {given} runs the same; torch.compile if a model should be faster"
            )
            yield Found(call, f"{script.name(call.func)} is deprecated", remedy)
    marked: list[ast.FunctionDef | ast.ClassDef] = [
        *script.nodes(ast.FunctionDef),
        *script.nodes(ast.ClassDef),
    ]
    for node in marked:
        for mark in node.decorator_list:
            if script.name(mark) in _OLD and not _reads_sizes(node):
                yield Found(mark, f"{script.name(mark)} is deprecated", _without_mark(script, node))


def _without_mark(script: Script, node: ast.FunctionDef | ast.ClassDef) -> str:
    remedy = f"remove the decorator: {node.name} runs the same without it"
    if not script.calls_named(node.name):
        return remedy
    bounds = _untyped_bounds(node)
    if not bounds:
        return f"{remedy}, and torch.compile of the model fuses it"
    ints = f"{', '.join(bounds)} {'is an int' if len(bounds) == 1 else 'are ints'}"
    return f"{remedy}; torch.compile of the model fuses it if {ints}"


def _untyped_bounds(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """Untyped parameters that bound a slice. TorchScript makes them tensors, which torch.compile cannot trace there."""
    if isinstance(node, ast.ClassDef):
        return []
    names = [one.arg for one in node.args.args if one.annotation is None]
    bounds = [
        bound
        for one in ast.walk(node)
        if isinstance(one, ast.Slice)
        for bound in (one.lower, one.upper, one.step)
    ]
    used = {bound.id for bound in bounds if isinstance(bound, ast.Name)}
    return [name for name in names if name in used]


def _must_be_scripted(script: Script, call: ast.Call) -> bool:
    """Whether TorchScript is what somebody asks for: the user by an option, or code after this line, where the module is
    saved for another program, passed on, or its graph is read."""
    parent = script.parents.get(call)
    if any(isinstance(one, ast.If | ast.IfExp) for one in script.ancestors(call)):
        return True
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ONLY_SCRIPTED
    if isinstance(parent, ast.Call | ast.keyword | ast.Return):
        return True
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    names = {written(one) for one in targets} - {""}
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
    """`traced.save(path)`, `torch.jit.freeze(traced)`, `torch.jit.freeze(traced.eval())`."""
    parent = script.parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr in _ONLY_SCRIPTED:
        return True
    around = list(script.ancestors(node))[:4]
    return any(
        isinstance(one, ast.Call) and script.name(one.func).startswith("torch.jit.")
        for one in around
    )


def _reads_sizes(node: ast.AST) -> bool:
    """torch.jit.trace keeps sizes as constants, other than in a scripted function: such a decorator has a purpose."""
    return any(isinstance(one, ast.Attribute) and one.attr in _SIZES for one in ast.walk(node))


CHECK = Check(
    id="torchscript",
    title="torch.jit.script or torch.jit.trace, which are deprecated",
    level="warning",
    why="TorchScript is deprecated since 2025, and torch 2.13 warns at each call. Its fusion of pointwise operations is what "
    "torch.compile does better.",
    remedy="Leave it out: the function or module runs the same without it. torch.compile for speed, torch.export to ship a model.",
    before="@torch.jit.script\ndef gelu(x): ...",
    after="@torch.compile\ndef gelu(x): ...",
    find=find,
    silent="torch.jit.ignore, unused, is_scripting and other marks that cost nothing; scripts that also have torch.compile or "
    "torch.export, so that TorchScript is one choice of several; calls behind an if, which is an option; modules that are saved, returned, passed on, or whose graph is "
    "read, which need a ScriptModule; scripted functions that read sizes, which torch.jit.trace would otherwise keep as constants",
)
