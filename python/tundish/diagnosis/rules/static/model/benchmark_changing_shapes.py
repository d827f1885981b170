"""Detects the use of cudnn.benchmark with inputs of random size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, is_literal
from ....script.names import written
from ..static_rule import Occurrence, StaticRule

_RESIZES = ("torch.nn.functional.interpolate", "torchvision.transforms.functional.resize")
_DRAWS = ("random.", "numpy.random.")


def find(script: Script) -> Iterator[Occurrence]:
    resize = next((call for call in script.calls(*_RESIZES) if _is_drawn(script, call)), None)
    if resize is None:
        return
    for statement in script.nodes(ast.Assign):
        target = statement.targets[0]
        name = script.name(target) or written(target)
        if name == "torch.backends.cudnn.benchmark" and is_literal(statement.value, True):
            yield Occurrence(
                statement,
                f"{script.line_text(resize)} draws a random input size, and each new size is benchmarked again",
                "set torch.backends.cudnn.benchmark = False, or draw from only a few sizes",
            )


def _is_drawn(script: Script, call: ast.Call) -> bool:
    """Returns whether the training loop resizes to a size drawn by randint or uniform, not by choice."""
    if not script.loops.step_region(call):
        return False
    size = argument(call, "size", 1) or argument(call, "scale_factor", 2)
    parts = size.elts if isinstance(size, ast.Tuple | ast.List) else [size]
    for part in parts:
        value: ast.expr | None = part
        if isinstance(part, ast.Name):
            bindings = script.reaching(part)
            value = bindings[0].value if len(bindings) == 1 else None
        for node in ast.walk(value) if value is not None else ():
            if isinstance(node, ast.Call):
                name = script.name(node.func)
                if name.startswith(_DRAWS) and name.endswith(
                    ("randint", "randrange", "uniform", "random")
                ):
                    return True
    return False


RULE = StaticRule(
    id="benchmark-changing-shapes",
    title="cudnn.benchmark with changing sizes",
    level="warning",
    reason="cudnn.benchmark times all algorithms for the first batch of each size. With a new size in each step, it never "
    "stops. Users measured seconds instead of milliseconds per step.",
    fix="Turn it off, or draw from a few sizes, each of which is benchmarked once.",
    before="torch.backends.cudnn.benchmark = True\n...\nx = F.interpolate(x, size=random.randint(320, 640))",
    after="torch.backends.cudnn.benchmark = True\n...\nx = F.interpolate(x, size=random.choice([320, 480, 640]))",
    find=find,
    only_gpu=True,
    silent="sizes from a short list (random.choice), sizes that are drawn elsewhere",
)
