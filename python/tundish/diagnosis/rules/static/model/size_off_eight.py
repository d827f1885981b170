"""Detects layer sizes that are not multiples of 8, in scripts that train in fp16 or bf16."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument
from ....script.published import loads_published_weights
from ..static_rule import Occurrence, StaticRule

_LEAST = 128  # smaller layers are not reported, because they take little time anyway
_SIZES = {"torch.nn.Linear": (("in_features", 0), ("out_features", 1))}
_SIZES |= {f"torch.nn.Conv{n}d": (("in_channels", 0), ("out_channels", 1)) for n in (1, 2, 3)}
_SIXTEEN = ("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast")


def find(script: Script) -> Iterator[Occurrence]:
    if not _trains_in_sixteen_bits(script) or loads_published_weights(script):
        return
    for call in script.calls(*_SIZES):
        for name, position in _SIZES[script.name(call.func)]:
            given = argument(call, name, position)
            size = script.constant(given)
            if isinstance(size, int) and not isinstance(size, bool) and size >= _LEAST and size % 8:
                better = (size + 7) // 8 * 8
                yield Occurrence(
                    call,
                    f"{name}={size} is not a multiple of 8, which Tensor Cores need in 16 bits",
                    f"use {name}={better}",
                )
                break


def _trains_in_sixteen_bits(script: Script) -> bool:
    if any(True for _ in script.calls(*_SIXTEEN)):
        return True
    return any(
        keyword.arg in ("precision", "mixed_precision")
        and isinstance(keyword.value, ast.Constant)
        and "16" in str(keyword.value.value)
        for keyword in script.nodes(ast.keyword)
    )


RULE = StaticRule(
    id="size-off-eight",
    title="a layer's size is not a multiple of 8",
    level="warning",
    reason="In 16 bits, Tensor Cores work on blocks of 8 values. For other sizes, the library pads the matrix or uses a "
    "slower kernel. A known example is a vocabulary of 50,257 instead of 50,304.",
    fix="Round the size up to a multiple of 8, or better 64.",
    before="self.head = nn.Linear(768, 50257)",
    after="self.head = nn.Linear(768, 50304)  # the last 47 classes never occur",
    find=find,
    silent="sizes below 128, scripts without autocast or precision=16, sizes that are not literal "
    "numbers, models that load published weights of this size",
)
