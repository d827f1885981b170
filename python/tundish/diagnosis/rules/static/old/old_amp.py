"""Detects torch.cuda.amp, the old name of torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import has_unknown_arguments
from ....script.rewrite import rewritten
from ..static_rule import Occurrence, StaticRule

_OLD = tuple(
    f"torch.{device}.amp.{name}"
    for device in ("cuda", "cpu")
    for name in ("autocast", "GradScaler", "custom_fwd", "custom_bwd")
)
_AUTOCAST = ("enabled", "dtype", "cache_enabled")  # order of the old autocast's arguments


def find(script: Script) -> Iterator[Occurrence]:
    if _has_both(script):
        return
    for call in script.calls(*_OLD):
        name = script.name(call.func)
        yield Occurrence(call, f"{name} is deprecated since torch 2.4", _new_call(call, name))
    for function in [*script.nodes(ast.FunctionDef)]:
        for decorator in function.decorator_list:
            name = script.name(decorator)
            if name in _OLD:
                yield Occurrence(
                    decorator, f"{name} is deprecated since torch 2.4", f"@{_new_decorator(name)}"
                )


def _new_call(call: ast.Call, name: str) -> str:
    """Returns the call under the new name. Keeps all arguments, because enabled= may be False."""
    device, last = f'"{name.split(".")[1]}"', name.rpartition(".")[2]
    if last == "autocast":
        if has_unknown_arguments(call) and call.args:
            return f"torch.autocast({device}, ...) with the same arguments by name, because the order of enabled and dtype differs"
        return rewritten(call, "torch.autocast", first=[device], names=_AUTOCAST)
    if last == "GradScaler":
        return rewritten(call, "torch.amp.GradScaler", first=[device])
    return rewritten(call, f"torch.amp.{last}", changed={"device_type": device})


def _new_decorator(name: str) -> str:
    device, last = name.split(".")[1], name.rpartition(".")[2]
    if last in ("custom_fwd", "custom_bwd"):
        return f'torch.amp.{last}(device_type="{device}")'
    return f'torch.autocast("{device}")'


def _has_both(script: Script) -> bool:
    """Returns whether the script also uses the new name, because it supports several versions of torch."""
    return any(True for _ in script.calls("torch.amp.GradScaler", "torch.autocast", "torch.amp."))


RULE = StaticRule(
    id="old-amp",
    title="torch.cuda.amp, the old spelling of torch.amp",
    level="warning",
    reason="torch 2.4 deprecated the device-specific names; each call prints a FutureWarning.",
    fix='Use torch.autocast("cuda") and torch.amp.GradScaler("cuda") with the same arguments: enabled=, dtype= '
    "and cache_enabled= have the same meaning. With bf16, no GradScaler is needed.",
    before="with torch.cuda.amp.autocast(enabled=amp):\n    loss = loss_fn(model(x), y)",
    after='with torch.autocast("cuda", enabled=amp):\n    loss = loss_fn(model(x), y)',
    find=find,
    silent="scripts that also use the new spelling, for other versions of torch",
)
