"""Detects `if loss > 3:` in every step, where the CPU must wait for the GPU to choose the branch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    tests: list[ast.If | ast.While] = [*script.nodes(ast.If), *script.nodes(ast.While)]
    for statement in tests:
        test: ast.expr = statement.test
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        parts = test.values[:1] if isinstance(test, ast.BoolOp) else [test]
        for part in parts:
            if _is_tensor(script, part) and script.loops.waits_each_step(part):
                yield Occurrence(
                    part,
                    "the CPU waits for the GPU in every step to choose the branch",
                    "use torch.where or a mask, or test every 50 steps",
                )


def _is_tensor(script: Script, test: ast.expr) -> bool:
    """Returns whether a test is a comparison or a call. `if mask:` usually tests for None."""
    return isinstance(test, ast.Compare | ast.Call) and script.values.is_gpu_tensor(test)


RULE = StaticRule(
    id="tensor-in-condition",
    title="an if depends on a tensor in every step",
    level="warning",
    reason="Python needs the value to choose the branch, so the CPU waits for the GPU as with .item(). torch.compile "
    "also breaks its graph there.",
    fix="Use torch.where or a mask on the GPU, or test the value every 50 steps. GradScaler skips steps with "
    "inf or NaN without such a test.",
    before="if torch.isnan(loss):\n    continue",
    after="if step % 50 == 0 and torch.isnan(loss):\n    raise RuntimeError(step)",
    find=find,
    only_gpu=True,
    silent="behind another test such as step % 50 == 0, in asserts, in scripts without a GPU",
)
