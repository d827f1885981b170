"""`torch.rand(...).cuda()`: made on the CPU and copied, in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ...script.arguments import argument, has_unknown_arguments
from ...script.libraries import FACTORIES, device_of
from ..check import Check, Found


def find(script: Script) -> Iterator[Found]:
    for call in script.methods("cuda", "to"):
        made = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(made, ast.Call) or script.name(made.func) not in FACTORIES:
            continue
        if device_of(script, call) != "gpu" or has_unknown_arguments(made):
            continue
        given = [argument(made, name) for name in ("device", "generator", "pin_memory")]
        if any(one is not None for one in given) or not script.loops.each_step(call):
            continue
        target = argument(call, "device", 0)
        device = '"cuda"' if target is None else script.text(target)
        yield Found(
            call,
            f"{script.text(made.func)} makes the tensor on the CPU, then it is copied, in every step",
            f"make it where it is used: {script.text(made.func)}(..., device={device})",
        )


CHECK = Check(
    id="created-on-cpu",
    title="a tensor is made on the CPU and moved in every step",
    level="warning",
    why="The CPU fills the memory, then a copy over PCIe follows, from memory that is not pinned, so the CPU waits "
    "for it.",
    remedy="Give the device to the function that makes the tensor.",
    before="noise = torch.randn(64, 100).cuda()",
    after='noise = torch.randn(64, 100, device="cuda")',
    find=find,
    only_gpu=True,
    silent="outside the training loop, with a generator= of the CPU, torch.tensor and torch.from_numpy",
)
