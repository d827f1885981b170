"""Timed spans, from `t = time.time()` to `time.time() - t`, and notes on waits for the GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bindings import end_of, start_of
from .names import written

if TYPE_CHECKING:
    from .script import Script

CLOCKS = {f"time.{name}" for name in ("time", "perf_counter", "monotonic", "process_time")}
CLOCKS |= {f"time.{name}_ns" for name in ("time", "perf_counter", "monotonic")}
CLOCKS |= {"timeit.default_timer"}


@dataclass(frozen=True)
class Span:
    start: ast.AST  # t = time.time()
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
        yield Span(starts[0].statement, node, calls)


def remaining_waits_note(script: Script, calls: Iterable[ast.AST]) -> str:
    """Returns the note for a fix that is of no use while other calls of the step may wait."""
    places = list(dict.fromkeys(script.line_text(call) for call in calls))
    if not places:
        return ""
    lines = " and ".join(places)
    if len(places) > 1 and all(place.startswith("line ") for place in places):
        numbers = [place.removeprefix("line ") for place in places]
        lines = f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"
    return f"; {lines} {'wait' if len(places) > 1 else 'waits'} too if the tensor is on the GPU"


def timed_step_note(script: Script, wait: ast.Call) -> str:
    """Returns the note for a fix that removes a wait on which a measured step time depends."""
    region = script.loops.step_region(wait)
    if region is None:
        return ""
    for span in spans(script):
        within = script.is_inside(span.start, region) and script.is_inside(span.end, region)
        waits = [one for one in span.calls if written(one.func).endswith("synchronize")]
        if within and not waits and any(one is wait for one in span.calls):
            line = script.line_text(span.end)
            return f"; {line} then times a step that is only queued: take the time of many steps"
    return ""


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
