"""Detects sums that are computed in fp16 or bf16."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument
from ..static_rule import Occurrence, StaticRule

_REDUCTIONS = ("sum", "prod", "cumsum")
_FUNCTIONS = tuple(f"torch.{name}" for name in _REDUCTIONS)
_TYPES = ("torch.float16", "torch.half", "torch.bfloat16")


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.methods(*_REDUCTIONS):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and not script.name(owner):
            yield from _found(script, call, owner)
    for call in script.calls(*_FUNCTIONS):
        if call.args:
            yield from _found(script, call, call.args[0])


def _found(script: Script, call: ast.Call, tensor: ast.expr) -> Iterator[Occurrence]:
    kind = _sixteen_bit_type(script, tensor)
    if kind and argument(call, "dtype") is None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else "sum"
        yield Occurrence(
            call,
            f"{name} in {kind}: "
            + ("overflows above 65,504" if kind == "fp16" else "keeps 3 digits"),
            f"{name}(..., dtype=torch.float32)",
        )


def _sixteen_bit_type(script: Script, tensor: ast.expr) -> str:
    """Returns "fp16" or "bf16" if the tensor is the direct result of a conversion, else ""."""
    if isinstance(tensor, ast.Name):
        bindings = script.reaching(tensor)
        if len(bindings) != 1 or bindings[0].how != "assign" or bindings[0].value is None:
            return ""
        tensor = bindings[0].value
    if not isinstance(tensor, ast.Call) or not isinstance(tensor.func, ast.Attribute):
        return ""
    if script.values.infer(tensor.func.value).kind == "model":
        return ""
    if tensor.func.attr in ("half", "bfloat16") and not tensor.args:
        return "fp16" if tensor.func.attr == "half" else "bf16"
    if tensor.func.attr in ("to", "type") and tensor.args:
        name = script.name(tensor.args[0])
        if name in _TYPES:
            return "bf16" if name.endswith("bfloat16") else "fp16"
    return ""


RULE = StaticRule(
    id="half-reduction",
    title="a sum in 16 bits",
    level="error",
    reason="The sum itself is stored in 16 bits: fp16 ends at 65,504, so 70,000 ones add up to inf; bf16 has 8 bits of "
    "precision, so 257 is stored as 256.",
    fix="Reduce in 32 bits: x.sum(dtype=torch.float32). autocast does this automatically.",
    before="total = x.half().sum()",
    after="total = x.half().sum(dtype=torch.float32)",
    find=find,
    silent="mean, which torch accumulates in 32 bits; reductions with dtype=; tensors whose type is unknown",
)
