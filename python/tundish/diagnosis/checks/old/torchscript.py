"""torch.jit.script and torch.jit.trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ..check import Check, Found

_OLD = ("torch.jit.script", "torch.jit.trace", "torch.jit.script_method", "torch.jit.trace_module")


def find(script: Script) -> Iterator[Found]:
    for call in script.calls(*_OLD):
        yield _found(call, script.name(call.func))
    marked: list[ast.FunctionDef | ast.ClassDef] = [
        *script.nodes(ast.FunctionDef),
        *script.nodes(ast.ClassDef),
    ]
    for mark in [one for node in marked for one in node.decorator_list]:
        if script.name(mark) in _OLD:
            yield _found(mark, script.name(mark))


def _found(node: ast.AST, name: str) -> Found:
    return Found(
        node, f"{name} is deprecated", "torch.compile to run faster, torch.export to ship a model"
    )


CHECK = Check(
    id="torchscript",
    title="torch.jit.script or torch.jit.trace, which are deprecated",
    level="warning",
    why="TorchScript is deprecated since 2025, and torch 2.13 warns at each call. Its fusion of pointwise operations is what "
    "torch.compile does better.",
    remedy="torch.compile for speed, torch.export to ship a model.",
    before="@torch.jit.script\ndef gelu(x): ...",
    after="@torch.compile\ndef gelu(x): ...",
    find=find,
    silent="torch.jit.ignore, unused, is_scripting and other marks that cost nothing",
)
