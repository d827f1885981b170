"""`torch.rand(...).cuda()`: made on the CPU and copied, in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.call_arguments import argument, has_unknown_arguments
from ....lint.script.libraries import FACTORIES, device_of
from ....lint.script.rewrite import rewritten
from ..static_rule import Check, Found

_RANDOM = ("torch.rand", "torch.randn", "torch.randint", "torch.randperm")


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
        yield Found(
            call,
            f"{script.text(made.func)} makes the tensor on the CPU, then it is copied, in every step",
            f"make it where it is used: {_made_there(script, call, made)}",
        )


def _made_there(script: Script, call: ast.Call, made: ast.Call) -> str:
    """The factory with the device. What else `.to(...)` does, a conversion for example, stays in a `.to(...)`."""
    moved = argument(call, "device", 0)
    device = ast.unparse(moved) if moved is not None else '"cuda"'
    there = rewritten(made, changed={"device": device})
    by_name = any(keyword.arg == "device" for keyword in call.keywords)
    rest = ast.Call(
        call.func,
        call.args if by_name else call.args[1:],
        [one for one in call.keywords if one.arg not in ("device", "non_blocking", "copy")],
    )
    is_to = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    if is_to and (rest.args or rest.keywords):
        there = rewritten(rest, f"{there}.to")
    if script.name(made.func) in _RANDOM:
        there += " (the GPU's generator draws other numbers from the same seed)"
    return there


CHECK = Check(
    id="created-on-cpu",
    title="a tensor is made on the CPU and moved in every step",
    level="warning",
    why="The CPU fills the memory, then a copy over PCIe follows, from memory that is not pinned, so the CPU waits "
    "for it.",
    remedy="Give the device to the function that makes the tensor. A conversion stays: torch.ones(8).to(device, torch.bool) becomes "
    "torch.ones(8, device=device).to(torch.bool). Random numbers then come from the GPU's generator: the same seed gives others.",
    before="noise = torch.randn(64, 100).cuda()",
    after='noise = torch.randn(64, 100, device="cuda")',
    find=find,
    only_gpu=True,
    silent="outside the training loop, with a generator= of the CPU, torch.tensor and torch.from_numpy",
)
