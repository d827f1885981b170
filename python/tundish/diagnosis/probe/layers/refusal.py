"""Rejects models whose layers cannot be timed, because their modules are not called one by one."""

from __future__ import annotations

import sys
from typing import Any


def refusal_reason(model: Any) -> str:
    """Returns why the modules cannot be measured, or "" if they can."""
    torch = sys.modules["torch"]
    if model is None:
        return "the loop calls no module"
    scripted = getattr(torch.jit, "ScriptModule", ())
    for name, module in model.named_modules():
        what = f"{name} ({type(module).__name__})" if name else "the model"
        if _is_compiled(module):
            return f"{what} is compiled by torch.compile, which fuses layers: run it uncompiled"
        if isinstance(module, scripted):
            return f"{what} is TorchScript, whose modules Python does not call: run it unscripted"
    return ""


def _is_compiled(module: Any) -> bool:
    if type(module).__name__ == "OptimizedModule":
        return True
    return getattr(module, "_compiled_call_impl", None) is not None
