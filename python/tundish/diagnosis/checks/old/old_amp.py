"""torch.cuda.amp: the old spelling of torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...script import Script
from ..check import Check, Found

_NEW = {
    "torch.cuda.amp.autocast": 'torch.autocast("cuda")',
    "torch.cuda.amp.GradScaler": 'torch.amp.GradScaler("cuda")',
    "torch.cuda.amp.custom_fwd": 'torch.amp.custom_fwd(device_type="cuda")',
    "torch.cuda.amp.custom_bwd": 'torch.amp.custom_bwd(device_type="cuda")',
    "torch.cpu.amp.autocast": 'torch.autocast("cpu")',
    "torch.cpu.amp.GradScaler": 'torch.amp.GradScaler("cpu")',
}


def find(script: Script) -> Iterator[Found]:
    if _has_both(script):
        return
    for call in script.calls(*_NEW):
        name = script.name(call.func)
        yield Found(call, f"{name} is deprecated since torch 2.4", _NEW[name])
    for function in [*script.nodes(ast.FunctionDef)]:
        for mark in function.decorator_list:
            name = script.name(mark)
            if name in _NEW:
                yield Found(mark, f"{name} is deprecated since torch 2.4", "@" + _NEW[name])


def _has_both(script: Script) -> bool:
    """A script that also has the new spelling chooses by the version of torch."""
    return any(True for _ in script.calls("torch.amp.GradScaler", "torch.autocast", "torch.amp."))


CHECK = Check(
    id="old-amp",
    title="torch.cuda.amp, the old spelling of torch.amp",
    level="warning",
    why="torch 2.4 deprecated the spellings per device; each call prints a FutureWarning.",
    remedy='torch.autocast("cuda") and torch.amp.GradScaler("cuda"). With bf16 no GradScaler is needed.',
    before="with torch.cuda.amp.autocast():\n    loss = loss_fn(model(x), y)",
    after='with torch.autocast("cuda"):\n    loss = loss_fn(model(x), y)',
    find=find,
    silent="scripts that also have the new spelling, for other versions of torch",
)
