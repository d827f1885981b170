"""torch.cuda.amp: the old spelling of torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.call_arguments import has_unknown_arguments
from ....lint.script.rewrite import rewritten
from ..static_rule import Check, Found

_OLD = tuple(
    f"torch.{device}.amp.{name}"
    for device in ("cuda", "cpu")
    for name in ("autocast", "GradScaler", "custom_fwd", "custom_bwd")
)
_AUTOCAST = ("enabled", "dtype", "cache_enabled")  # the order of the old autocast


def find(script: Script) -> Iterator[Found]:
    if _has_both(script):
        return
    for call in script.calls(*_OLD):
        name = script.name(call.func)
        yield Found(call, f"{name} is deprecated since torch 2.4", _new_call(call, name))
    for function in [*script.nodes(ast.FunctionDef)]:
        for mark in function.decorator_list:
            name = script.name(mark)
            if name in _OLD:
                yield Found(mark, f"{name} is deprecated since torch 2.4", f"@{_new_mark(name)}")


def _new_call(call: ast.Call, name: str) -> str:
    """The same call in the new spelling. Its arguments stay: enabled= may turn it off."""
    device, last = f'"{name.split(".")[1]}"', name.rpartition(".")[2]
    if last == "autocast":
        if has_unknown_arguments(call) and call.args:
            return f"torch.autocast({device}, ...) with the same arguments by name: the order of enabled and dtype differs"
        return rewritten(call, "torch.autocast", first=[device], names=_AUTOCAST)
    if last == "GradScaler":
        return rewritten(call, "torch.amp.GradScaler", first=[device])
    return rewritten(call, f"torch.amp.{last}", changed={"device_type": device})


def _new_mark(name: str) -> str:
    device, last = name.split(".")[1], name.rpartition(".")[2]
    if last in ("custom_fwd", "custom_bwd"):
        return f'torch.amp.{last}(device_type="{device}")'
    return f'torch.autocast("{device}")'


def _has_both(script: Script) -> bool:
    """A script that also has the new spelling chooses by the version of torch."""
    return any(True for _ in script.calls("torch.amp.GradScaler", "torch.autocast", "torch.amp."))


CHECK = Check(
    id="old-amp",
    title="torch.cuda.amp, the old spelling of torch.amp",
    level="warning",
    why="torch 2.4 deprecated the spellings per device; each call prints a FutureWarning.",
    remedy='torch.autocast("cuda") and torch.amp.GradScaler("cuda"), with the arguments that were there: enabled=, dtype= '
    "and cache_enabled= mean the same. With bf16 no GradScaler is needed.",
    before="with torch.cuda.amp.autocast(enabled=amp):\n    loss = loss_fn(model(x), y)",
    after='with torch.autocast("cuda", enabled=amp):\n    loss = loss_fn(model(x), y)',
    find=find,
    silent="scripts that also have the new spelling, for other versions of torch",
)
