"""Flags of torch that are changes of a boost."""

from __future__ import annotations

import sys


def set_torch_flags(name: str) -> bool:
    """Sets the flag of a change. Returns whether the change is a flag."""
    torch = sys.modules["torch"]
    if name == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
        return True
    if name == "cudnn_benchmark":
        torch.backends.cudnn.benchmark = True
        return True
    return False
