"""Detects `torch.tensor(array)`, which copies the array; `torch.from_numpy(array)` does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.arrays import is_fresh
from ....script.call_arguments import argument, has_unknown_arguments
from ....script.rewrite import rewritten
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls("torch.tensor", "torch.Tensor", "torch.FloatTensor"):
        if len(call.args) != 1 or not _is_frequent(script, call) or has_unknown_arguments(call):
            continue
        if argument(call, "requires_grad") is not None:
            continue
        array = call.args[0]
        if script.values.infer(array).kind != "array" or _is_small(script, array):
            continue
        if is_fresh(script, array, call):
            yield Occurrence(
                call,
                f"{script.text(call.func)} copies the array {script.text(array, 24)} for every sample",
                _without_copy(script, call),
            )


def _without_copy(script: Script, call: ast.Call) -> str:
    """Returns a call that does not copy. For torch.Tensor(), adds its conversion to float32."""
    if script.name(call.func) == "torch.tensor":
        shared = rewritten(call, "torch.as_tensor")
        return f"{shared} shares its memory: nothing may write into the array later"
    shared = rewritten(call, "torch.as_tensor", changed={"dtype": "torch.float32"})
    return f"{shared} shares the memory of a float32 array: nothing may write into it later"


def _is_frequent(script: Script, call: ast.Call) -> bool:
    """Returns whether a call runs for every sample or step: in __getitem__, collate, a training loop."""
    function = getattr(script.function(call), "name", "")
    if function == "__getitem__" or "collate" in function:
        return True
    return script.loops.each_step(call) is not None


def _is_small(script: Script, array: ast.expr) -> bool:
    """Returns whether the array is small: a literal, np.float32(...), or random numbers."""
    bindings = script.bindings(array)
    value = bindings[0].value if len(bindings) == 1 else array
    if not isinstance(value, ast.Call):
        return False
    name = script.name(value.func)
    if name.startswith("numpy.random.") or name in ("numpy.array", "numpy.asarray"):
        first = value.args[0] if value.args else None
        return name.startswith("numpy.random.") or isinstance(
            first, ast.List | ast.Constant | ast.Tuple
        )
    whole = ("numpy.load", "numpy.asarray", "numpy.array", "numpy.fromfile", "numpy.frombuffer")
    return name.startswith("numpy.") and name not in (*whole, "numpy.transpose", "numpy.stack")


RULE = StaticRule(
    id="numpy-copied",
    title="an array is copied although its memory could be shared",
    level="warning",
    reason="torch.tensor() always copies. For an image or a spectrogram in __getitem__, this is an additional pass over "
    "memory per sample.",
    fix="Use torch.from_numpy(array) or torch.as_tensor(array), which share the memory.",
    before="return torch.tensor(np.load(path)), label",
    after="return torch.from_numpy(np.load(path)), label",
    find=find,
    silent="arrays that outlive the sample (self.images[i], a memory map), where a write into the tensor would change the data; "
    "small arrays; code outside __getitem__, collate functions and the training loop",
)
