"""Runs the script's compiled functions in eager mode while a dispatch mode is active.

Under a dispatch mode, torch.compile cannot compile, and functions with fullgraph=True would raise
an error.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def run_eagerly() -> AbstractContextManager[Any]:
    """Disables torch.compile in a `with` block. Has no effect before torch 2.6."""
    torch = sys.modules["torch"]
    set_stance = getattr(torch.compiler, "set_stance", None)
    return nullcontext() if set_stance is None else set_stance("force_eager")
