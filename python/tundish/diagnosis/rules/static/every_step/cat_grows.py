"""Detects `out = torch.cat([out, x])` in a loop, which copies all of `out` in every pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.names import written
from ..static_rule import Occurrence, StaticRule

_CATS = (
    "torch.cat",
    "torch.concat",
    "torch.vstack",
    "torch.hstack",
    "numpy.concatenate",
    "numpy.append",
)


def find(script: Script) -> Iterator[Occurrence]:
    for statement in script.nodes(ast.Assign):
        call = statement.value
        if len(statement.targets) != 1 or not isinstance(call, ast.Call) or not call.args:
            continue
        if script.name(call.func) not in _CATS:
            continue
        name = written(statement.targets[0])
        parts = (
            call.args[0].elts if isinstance(call.args[0], ast.List | ast.Tuple) else call.args[:2]
        )
        loops = script.loops_around(statement)
        if not name or not loops or name not in [written(part) for part in parts[:1]]:
            continue
        if script.loops.over_loader(loops[0]) and _only_grows(script, name, statement, loops[0]):
            yield Occurrence(
                call,
                f"{name} is copied completely for every batch",
                f"collect the parts in a list and join them once after the loop: {script.text(call.func)}(parts)",
            )


def _only_grows(script: Script, name: str, statement: ast.stmt, loop: ast.AST) -> bool:
    """Returns whether nothing else in the loop uses the name."""
    nodes: list[ast.Name | ast.Attribute] = [
        *script.inside(loop, ast.Name),
        *script.inside(loop, ast.Attribute),
    ]
    return not any(
        written(node) == name and not script.is_inside(node, statement) for node in nodes
    )


RULE = StaticRule(
    id="cat-grows",
    title="a tensor grows by torch.cat in a loop",
    level="warning",
    reason="Each torch.cat allocates and copies the whole result: the work grows with the square of the number of "
    "batches, and two copies are in memory at the same time.",
    fix="Append the parts to a list and join them once, after the loop.",
    before="for x, y in loader:\n    scores = torch.cat([scores, model(x)])",
    after="for x, y in loader:\n    parts.append(model(x))\nscores = torch.cat(parts)",
    find=find,
    silent="if the joined tensor is used in the loop, as in token-by-token generation",
)
