"""Detects `torch.rand(...).cuda()`, which creates a tensor on the CPU and copies it in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, has_unknown_arguments
from ....script.libraries import FACTORIES, target_device
from ....script.rewrite import rewritten
from ..static_rule import Occurrence, StaticRule

_RANDOM = ("torch.rand", "torch.randn", "torch.randint", "torch.randperm")


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.methods("cuda", "to"):
        made = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(made, ast.Call) or script.name(made.func) not in FACTORIES:
            continue
        if target_device(script, call) != "gpu" or has_unknown_arguments(made):
            continue
        given = [argument(made, name) for name in ("device", "generator", "pin_memory")]
        if any(value is not None for value in given) or not script.loops.each_step(call):
            continue
        yield Occurrence(
            call,
            f"{script.text(made.func)} creates the tensor on the CPU and copies it in every step",
            f"create it on the GPU: {_created_on_gpu(script, call, made)}",
        )


def _created_on_gpu(script: Script, call: ast.Call, made: ast.Call) -> str:
    """Returns the call that creates the tensor, with a device argument. Keeps dtype conversions."""
    moved = argument(call, "device", 0)
    device = ast.unparse(moved) if moved is not None else '"cuda"'
    created = rewritten(made, changed={"device": device})
    by_name = any(keyword.arg == "device" for keyword in call.keywords)
    rest = ast.Call(
        call.func,
        call.args if by_name else call.args[1:],
        [
            keyword
            for keyword in call.keywords
            if keyword.arg not in ("device", "non_blocking", "copy")
        ],
    )
    is_to = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    if is_to and (rest.args or rest.keywords):
        created = rewritten(rest, f"{created}.to")
    if script.name(made.func) in _RANDOM:
        created += " (the GPU's generator draws other numbers from the same seed)"
    return created


RULE = StaticRule(
    id="created-on-cpu",
    title="a tensor is created on the CPU and moved in every step",
    level="warning",
    reason="The CPU fills the memory, then copies it over PCIe from unpinned memory, and waits for the copy.",
    fix="Pass the device to the function that creates the tensor. A conversion is kept: torch.ones(8).to(device, torch.bool) becomes "
    "torch.ones(8, device=device).to(torch.bool). Random numbers then come from the GPU's generator and differ for the same seed.",
    before="noise = torch.randn(64, 100).cuda()",
    after='noise = torch.randn(64, 100, device="cuda")',
    find=find,
    only_gpu=True,
    silent="outside the training loop, with a CPU generator=, torch.tensor and torch.from_numpy",
)
