"""Detects `.cpu()` and `.numpy()` of GPU tensors in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.libraries import target_device, uses_rpc
from ....script.timing import timed_step_note
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.methods("cpu", "to"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if target_device(script, call) != "cpu" or _is_read_by_numpy(script, call):
            continue
        waits = script.values.is_gpu_tensor(owner) and script.loops.waits_each_step(call)
        if waits and not uses_rpc(script):
            yield Occurrence(
                call,
                f"{script.text(call)} copies to the CPU and waits for the GPU in every step",
                "keep it on the GPU with .detach() and copy once after the loop"
                + timed_step_note(script, call),
            )


def _is_read_by_numpy(script: Script, node: ast.AST) -> bool:
    """Returns whether a NumPy function reads the result; the check numpy-in-loop reports that."""
    for ancestor in script.ancestors(node):
        if isinstance(ancestor, ast.stmt):
            return False
        if isinstance(ancestor, ast.Call) and script.name(ancestor.func).startswith("numpy."):
            return True
    return False


RULE = StaticRule(
    id="cpu-in-loop",
    title="a tensor is copied to the CPU in every step",
    level="warning",
    reason="A copy to the CPU waits until the GPU has computed the tensor, and the GPU is idle until the CPU has "
    "queued new work.",
    fix="Keep results on the GPU with .detach() and copy them once, after the loop.",
    before="predictions.append(logits.cpu())",
    after="predictions.append(logits.detach())  # torch.cat(predictions).cpu() after the loop",
    find=find,
    only_gpu=True,
    silent="behind an if; in validation loops; in scripts without a GPU; in scripts that send tensors by torch.distributed.rpc, "
    "which requires them on the CPU",
)
