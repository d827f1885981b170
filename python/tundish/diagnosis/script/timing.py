"""Finds timed code, from `t = time.time()` to `time.time() - t`. Writes notes about GPU waits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from .bindings import end_position, start_position
from .names import written

if TYPE_CHECKING:
    from .script import Script

CLOCKS = {f"time.{name}" for name in ("time", "perf_counter", "monotonic", "process_time")}
CLOCKS |= {f"time.{name}_ns" for name in ("time", "perf_counter", "monotonic")}
CLOCKS |= {"timeit.default_timer"}


Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Span:
    start: ast.AST  # t = time.time()
    end: ast.BinOp  # time.time() - t
    calls: list[ast.Call]  # calls between start and end, in source order

    def nodes(self, script: Script, kind: type[Node]) -> list[Node]:
        """Returns the nodes of a type between start and end."""
        first, last = end_position(self.start), start_position(self.end)
        return [
            node
            for node in script.inside(script.function(self.end), kind)
            if first < start_position(node) < last and not script.is_inside(self.end, node)
        ]


def spans(script: Script) -> Iterator[Span]:
    for node in script.nodes(ast.BinOp):
        if not isinstance(node.op, ast.Sub) or not isinstance(node.right, ast.Name):
            continue
        if not _reads_clock(script, node.left) or _is_limit(script, node):
            continue
        starts = script.reaching(node.right)
        if not starts or starts[0].value is None or not _reads_clock(script, starts[0].value):
            continue
        first, last = end_position(starts[0].statement), start_position(node)
        calls = [
            call
            for call in script.inside(script.function(node), ast.Call)
            if first < start_position(call) < last and not script.is_inside(node, call)
        ]
        yield Span(starts[0].statement, node, calls)


def remaining_waits_note(script: Script, calls: Iterable[ast.AST]) -> str:
    """Returns a note if other calls in the step also wait, which limits the benefit of a fix."""
    locations = list(dict.fromkeys(script.line_text(call) for call in calls))
    if not locations:
        return ""
    lines = " and ".join(locations)
    if len(locations) > 1 and all(location.startswith("line ") for location in locations):
        numbers = [location.removeprefix("line ") for location in locations]
        lines = f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"
    return f"; {lines} {'wait' if len(locations) > 1 else 'waits'} too if the tensor is on the GPU"


def timed_step_note(script: Script, wait: ast.Call) -> str:
    """Returns a note if a time measurement relies on the wait that the fix removes."""
    region = script.loops.step_region(wait)
    if region is None:
        return ""
    for span in spans(script):
        within = script.is_inside(span.start, region) and script.is_inside(span.end, region)
        waits = [call for call in span.calls if written(call.func).endswith("synchronize")]
        if within and not waits and any(call is wait for call in span.calls):
            line = script.line_text(span.end)
            return f"; {line} then only measures queueing a step: time many steps instead"
    return ""


def _reads_clock(script: Script, value: ast.AST) -> bool:
    """Returns whether a value is a call of a clock, or a name that was last bound to such a call."""
    if isinstance(value, ast.Name):
        bindings = script.reaching(value)
        if len(bindings) != 1 or bindings[0].value is None:
            return False
        value = bindings[0].value
    return isinstance(value, ast.Call) and script.name(value.func) in CLOCKS


def _is_limit(script: Script, difference: ast.AST) -> bool:
    """Recognizes a time limit such as `if time.time() - t > 60`, which is no measurement."""
    return any(isinstance(ancestor, ast.Compare) for ancestor in script.ancestors(difference))
