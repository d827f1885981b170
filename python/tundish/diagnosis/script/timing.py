"""Spans of a script whose time is taken: from `t = time.time()` to `time.time() - t`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bindings import end_of, start_of

if TYPE_CHECKING:
    from .script import Script

CLOCKS = {f"time.{name}" for name in ("time", "perf_counter", "monotonic", "process_time")}
CLOCKS |= {f"time.{name}_ns" for name in ("time", "perf_counter", "monotonic")}
CLOCKS |= {"timeit.default_timer"}


@dataclass(frozen=True)
class Span:
    end: ast.BinOp  # time.time() - t
    calls: list[ast.Call]  # between the two, in the order of the text


def spans(script: Script) -> Iterator[Span]:
    for node in script.nodes(ast.BinOp):
        if not isinstance(node.op, ast.Sub) or not isinstance(node.right, ast.Name):
            continue
        if not _reads_clock(script, node.left) or _is_limit(script, node):
            continue
        starts = script.reaching(node.right)
        if not starts or starts[0].value is None or not _reads_clock(script, starts[0].value):
            continue
        first, last = end_of(starts[0].statement), start_of(node)
        calls = [
            call
            for call in script.inside(script.function(node), ast.Call)
            if first < start_of(call) < last and not script.is_inside(node, call)
        ]
        yield Span(node, calls)


def _reads_clock(script: Script, value: ast.AST) -> bool:
    """A call of a clock, or a name that was last bound to one."""
    if isinstance(value, ast.Name):
        bindings = script.reaching(value)
        if len(bindings) != 1 or bindings[0].value is None:
            return False
        value = bindings[0].value
    return isinstance(value, ast.Call) and script.name(value.func) in CLOCKS


def _is_limit(script: Script, difference: ast.AST) -> bool:
    """`if time.time() - t > 60`: when to stop, not how long something took."""
    return any(isinstance(one, ast.Compare) for one in script.ancestors(difference))
