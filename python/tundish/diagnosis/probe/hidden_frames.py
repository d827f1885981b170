"""Hides frames from warnings.

`warnings.warn(..., stacklevel=3)` counts callers. A replaced function adds a frame, so the warning
would name a line of the watch. Python skips frames of importlib, which it recognizes by two parts
of their file name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.py (importlib._bootstrap)")

_Function = TypeVar("_Function", bound=Callable[..., object])


def hidden(function: _Function) -> _Function:
    """Hides the frame of `function` from warnings, so that they name the same line as without it."""
    if isinstance(function, FunctionType):
        function.__code__ = function.__code__.replace(co_filename=_FILE)
    return function
