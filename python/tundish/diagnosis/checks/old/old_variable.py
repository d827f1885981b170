"""torch.autograd.Variable."""

from __future__ import annotations

from collections.abc import Iterator

from ...script import Script
from ..check import Check, Found


def find(script: Script) -> Iterator[Found]:
    for call in script.calls("torch.autograd.Variable"):
        inner = script.text(call.args[0], 30) if call.args else "the tensor"
        yield Found(call, "Variable() does nothing since torch 0.4", f"use {inner} itself")


CHECK = Check(
    id="old-variable",
    title="Variable(), which does nothing",
    level="warning",
    why="Since torch 0.4 every tensor is a variable. The call costs a little in each step and hides what happens.",
    remedy="Remove the call.",
    before="x = Variable(x.cuda())",
    after="x = x.cuda()",
    find=find,
)
